"""A user looks at three single offers for each page of offers, with a short think time in between."""

import random

from locust import HttpUser, between, task


class Visitor(HttpUser):
    wait_time = between(0.02, 0.06)

    @task(3)
    def offer(self):
        self.client.get(f"/offers/{random.randrange(1000)}", name="offer")

    @task
    def page(self):
        self.client.get(f"/pages/{random.randrange(990)}", name="page")
