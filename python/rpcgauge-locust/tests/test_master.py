"""Runs a real headless master, and workers that send what rpcgauge sends, many times as fast."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import msgpack
import zmq

HERE = pathlib.Path(__file__).parent
LOCUSTFILE = """
import rpcgauge_locust
from locust import User, constant, task

rpcgauge_locust.collect("runs", "orders")

class Rpcgauge(User):
    wait_time = constant(1)

    @task
    def nothing(self):
        pass
"""
FILES = {name: "{}\n" for name in ("plan.json", "environment.json", "trials.jsonl", "run.json")}

# A worker sends figures every 3 s, so 1,200 times in an hour.
REPORTS = 1_200
WORKERS = 5
# The size of the figures of a long load.
TEXT = "x" * 60_000
MAX_GROWTH_KB = 8_192


class Worker:
    """A worker of a master, without calls."""

    def __init__(self, name, port):
        self.name = name
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.setsockopt(zmq.IDENTITY, name.encode())
        self.socket.connect(f"tcp://127.0.0.1:{port}")
        self.send("client_ready", -1)
        self.run = None

    def send(self, of, data):
        self.socket.send(msgpack.packb([of, data, self.name]))

    def receive(self, wait_ms=0):
        while self.socket.poll(wait_ms):
            of, data, _ = msgpack.unpackb(self.socket.recv(), strict_map_key=False)
            if of == "rpcgauge_collect":
                self.run = data["run"]
            elif of == "spawn":
                users = data["user_classes_count"]
                self.send("spawning", None)
                self.send("spawning_complete", {"user_classes_count": users, "user_count": sum(users.values())})
            elif of == "heartbeat":
                return

    def heartbeat(self):
        self.send("heartbeat", {"state": "running", "current_cpu_usage": 1.0})

    def figures(self, text, ended=False, **other):
        figures = {"format": 1, "run": self.run, "files": FILES, "name": f"{self.name}.json", "text": text, "ended": ended}
        self.send("rpcgauge_figures", figures | other)


class Master(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "locustfile.py").write_text(LOCUSTFILE)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        arguments = f"-m locust --master --master-bind-port {self.port} --headless -u 5 -r 5 -t 10m"
        self.log = self.folder / "log"
        with self.log.open("w") as log:
            self.master = subprocess.Popen(
                [sys.executable, *arguments.split(), "--expect-workers", str(WORKERS)],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(HERE.parent)},
                stderr=log,
                stdout=subprocess.DEVNULL,
            )
        self.addCleanup(self.master.wait)
        self.addCleanup(self.master.kill)
        self.workers = [Worker(f"w{number}", self.port) for number in range(WORKERS)]
        for worker in self.workers:
            self.addCleanup(worker.socket.close, 0)
            self.wait(lambda: worker.receive(100) or worker.run, "the load")

    def wait(self, ready, what):
        until = time.monotonic() + 60
        while not ready():
            self.assertLess(time.monotonic(), until, f"waited for {what}:\n{self.log.read_text()}")
            time.sleep(0.02)

    def send_all(self, number):
        for worker in self.workers:
            worker.figures(json.dumps(number) + TEXT)
            worker.heartbeat()
        # The answer to a heartbeat shows that the master has handled the figures before it.
        for worker in self.workers:
            worker.receive(10_000)

    def resident_kb(self):
        status = pathlib.Path(f"/proc/{self.master.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def texts(self):
        run = self.folder / "runs" / self.workers[0].run / "workers"
        return {path.name: path.read_text() for path in run.iterdir()}

    def test_memory_does_not_grow_in_an_hour(self):
        for number in range(REPORTS // 10):
            self.send_all(number)
        before = self.resident_kb()
        for number in range(REPORTS // 10, REPORTS):
            self.send_all(number)
        grown = self.resident_kb() - before
        print(f"{WORKERS} workers, {REPORTS} reports each: {before} kB, grown by {grown} kB")
        self.assertLess(grown, MAX_GROWTH_KB)
        last = json.dumps(REPORTS - 1) + TEXT
        self.assertEqual(self.texts(), {f"w{number}.json": last for number in range(WORKERS)})

    def test_what_is_not_figures_is_refused_and_the_rest_is_kept(self):
        self.send_all(1)
        for other in (
            {"run": "../elsewhere"},
            {"run": "."},
            {"name": "../../w1.json"},
            {"files": {"/etc/passwd": ""}},
            {"format": 2},
        ):
            self.workers[0].figures("wrong", **other)
        self.workers[1].send("rpcgauge_figures", None)
        self.send_all(2)
        self.assertEqual(set(self.texts().values()), {"2" + TEXT})
        said = self.log.read_text()
        self.assertEqual(said.count("cannot keep the figures of the worker w0"), 1, said)
        self.assertIn("cannot keep the figures of the worker w1", said)
        self.assertEqual([path.name for path in self.folder.glob("*/*")], [self.workers[0].run])


if __name__ == "__main__":
    unittest.main()
