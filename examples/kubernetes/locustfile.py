# The locustfile of the master. Its users' calls are those of the workers.
import rpcgauge_locust
from locust import User, constant, task

rpcgauge_locust.collect("/runs", "orders")


class Rpcgauge(User):
    wait_time = constant(1)

    @task
    def nothing(self):
        pass
