"""Collects the exact figures of rpcgauge workers at a Locust master.

The master tells each worker the name of the load's run directory. From then on, the worker sends all its figures so far
every few seconds, as the text of a file. This module writes the newest text of each worker and understands none of it:
`rpcgauge report` merges them. It keeps no figures in memory.
"""

import datetime
import fcntl
import logging
import pathlib
import re
import time

import gevent
from locust import events
from locust.runners import STATE_MISSING, MasterRunner, WorkerRunner

__all__ = ["collect"]

# The version of the messages. A worker refuses another one.
FORMAT = 1

# How long to wait for the last figures of workers that have not ended when the load ends, in seconds.
LAST_FIGURES = 10

FILES = ("plan.json", "environment.json", "trials.jsonl", "run.json")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")

log = logging.getLogger("rpcgauge")


def collect(folder="runs", name="locust"):
    """Collects the figures of each load in a new run directory, `folder/<time>-<name>`."""
    if not NAME.fullmatch(name):
        raise ValueError(f'"{name}" is not a valid name of runs; use letters, digits, ".", "_" and "-"')

    @events.init.add_listener
    def init(environment, **_):
        if isinstance(environment.runner, MasterRunner):
            Collector(environment, pathlib.Path(folder), name)
        elif isinstance(environment.runner, WorkerRunner):
            # Locust's own workers warn of messages that they do not know.
            for message in ("rpcgauge_collect", "rpcgauge_collect_last"):
                environment.runner.register_message(message, lambda **_: None)


class Collector:
    def __init__(self, environment, folder, name):
        self.runner = environment.runner
        self.folder = folder
        self.name = name
        self.run = None
        self.began = 0.0
        self.lock = None
        # The workers whose figures of this load are not the last ones, and all that have sent any.
        self.unfinished = set()
        self.workers = set()
        self.refused = set()
        self.runner.register_message("rpcgauge_figures", self.figures)
        environment.events.test_start.add_listener(self.begin)
        environment.events.test_stop.add_listener(self.end)
        environment.events.worker_connect.add_listener(self.joined)

    def begin(self, **_):
        now = datetime.datetime.now(datetime.timezone.utc)
        first = f"{now:%Y%m%dT%H%M%SZ}-{self.name}"
        self.run, number = first, 2
        while (self.folder / self.run).exists():
            self.run, number = f"{first}-{number}", number + 1
        self.began = time.monotonic()
        self.unfinished.clear()
        self.workers.clear()
        self.tell()

    def joined(self, client_id, **_):
        if self.run:
            self.tell(client_id)

    def tell(self, client_id=None):
        elapsed = time.monotonic() - self.began
        data = {"format": FORMAT, "run": self.run, "elapsed": elapsed}
        self.runner.send_message("rpcgauge_collect", data, client_id)

    def figures(self, msg, **_):
        data, worker = msg.data, msg.node_id
        try:
            if data["format"] != FORMAT:
                reason = f"it uses format {data['format']}, this rpcgauge-locust {FORMAT}; use one version"
                raise ValueError(reason)
            self.write(**{key: data[key] for key in ("run", "files", "name", "text")})
        except (KeyError, TypeError, ValueError, OSError) as error:
            if worker not in self.refused:
                self.refused.add(worker)
                log.error("cannot keep the figures of the worker %s: %s", worker, error)
            return
        self.refused.discard(worker)
        if data["run"] == self.run:
            self.workers.add(worker)
            (self.unfinished.discard if data["ended"] else self.unfinished.add)(worker)

    def write(self, run, files, name, text):
        # The port of a master is open to every program in the network.
        if not (NAME.fullmatch(run) and NAME.fullmatch(name)) or sorted(files) != sorted(FILES):
            raise ValueError("they are not those of a run")
        directory = self.folder / run
        workers = directory / "workers"
        workers.mkdir(parents=True, exist_ok=True)
        for file in FILES:
            if not (directory / file).exists():
                replace(directory / file, files[file])
        if run == self.run and not self.lock:
            # A report of a run that is locked says that it is still running.
            lock = open(directory / "trials.jsonl")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.lock = lock
            except BlockingIOError:
                # Someone reads the run at this moment. The next figures lock it.
                lock.close()
        replace(workers / name, text)

    def end(self, **_):
        self.runner.send_message("rpcgauge_collect_last")
        until = time.monotonic() + LAST_FIGURES
        while time.monotonic() < until and any(map(self.is_there, self.unfinished)):
            gevent.sleep(0.05)
        for worker in sorted(self.unfinished):
            log.warning("the worker %s was lost; its figures up to its last report are kept", worker)
        if self.lock:
            self.lock.close()
            self.lock = None
        if self.workers:
            workers = "1 worker" if len(self.workers) == 1 else f"{len(self.workers)} workers"
            log.info("the figures of %s are in %s; show them with: rpcgauge report %s", workers, *[self.folder / self.run] * 2)
        else:
            log.warning("no rpcgauge worker has sent figures")
        self.run = None

    def is_there(self, worker):
        client = self.runner.clients.get(worker)
        return client is not None and client.state != STATE_MISSING


def replace(path, text):
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
