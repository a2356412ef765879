"""Runs the users of a locustfile and counts their requests. rpcgauge sends commands on standard input, one per line.

    LOCUSTFILE HOST USERS SPAWN_RATE [TAG...]

    spawn   start all users; replies when each user has begun its first task
    open    let users begin tasks
    count   reset all counts
    take    report what was counted since then
    close   let users begin no more tasks; replies when all running tasks have finished

A reply is one line of JSON on standard output. Output of the locustfile is redirected to standard error.
"""

import collections
import json
import os
import sys
import time

# Imported first, because it must patch other modules before they are imported.
import locust
from locust.env import Environment
from locust.user.task import DefaultTaskSet, TaskSet
from locust.util.load_locustfile import load_locustfile

import gevent
from gevent.event import Event
from gevent.fileobject import FileObjectThread

# How long running tasks may take after "close", and how long a user may take to begin its first task.
PATIENCE_S = 60
POLL_S = 0.002
# The maximum length of an error's text in a report, in characters.
MAX_SHOWN = 300

REPLIES = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def reply(**line):
    REPLIES.write(json.dumps(line) + "\n")
    REPLIES.flush()


class Gate:
    """Holds back the tasks of users while another set is measured."""

    def __init__(self):
        self.open = Event()
        self.running = 0
        # Users that have begun a task since they were started.
        self.begun = set()

    def hold(self, task_set):
        """Makes the tasks of a task set class wait for this gate."""
        execute, gate = task_set.execute_task, self

        def execute_task(self, task):
            gate.begun.add(self.user)
            gate.open.wait()
            if isinstance(task, type) and issubclass(task, TaskSet):
                return execute(self, task)  # A nested task set: its own tasks wait here.
            gate.running += 1
            try:
                return execute(self, task)
            finally:
                gate.running -= 1

        task_set.execute_task = execute_task


class Requests:
    """The requests of one method and name."""

    def __init__(self):
        self.sum_us = 0.0
        self.times = collections.Counter()
        self.failures = 0
        self.error = ""


def rounded(number):
    """Rounds to four significant digits: one more than reports show, to keep distinct values few."""
    digits = max(0, len(str(round(number))) - 4)
    return round(round(number) / 10**digits) * 10**digits


class Counts:
    """Requests that finished since counting began, by method and name."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.since = time.monotonic()
        self.cpu = time.process_time()
        self.requests = {}
        self.task_errors = 0
        self.task_error = ""

    def request(self, request_type, name, response_time, exception=None, **_):
        one = self.requests.setdefault((request_type, name), Requests())
        spent_us = max(0.0, 1000 * (response_time or 0))
        if exception is None:
            one.sum_us += spent_us
            one.times[rounded(spent_us)] += 1
        else:
            one.failures += 1
            one.error = one.error or f"{exception!r}"[:MAX_SHOWN]

    def user_error(self, exception, **_):
        self.task_errors += 1
        self.task_error = self.task_error or f"{exception!r}"[:MAX_SHOWN]

    def taken(self):
        return {
            "seconds": time.monotonic() - self.since,
            "cpu_seconds": time.process_time() - self.cpu,
            "requests": [
                {
                    "method": str(method),
                    "name": str(name),
                    "sum_us": one.sum_us,
                    "times_us": sorted(one.times.items()),
                    "failures": one.failures,
                    "error": one.error,
                }
                for (method, name), one in sorted(self.requests.items())
            ],
            "task_errors": self.task_errors,
            "task_error": self.task_error,
        }


def tags_of(tasks):
    """The tags of a task, or of all tasks in a user class or task set."""
    own = set(getattr(tasks, "locust_tag_set", ()))
    return own.union(*(tags_of(task) for task in getattr(tasks, "tasks", ())))


def wait_until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so() and time.monotonic() < deadline:
        gevent.sleep(POLL_S)
    return is_so()


def main(locustfile, host, users, spawn_rate, *tags):
    users = int(users)
    classes, shapes = load_locustfile(os.path.abspath(locustfile))
    if not classes:
        return reply(error="it has no user class: write one, such as class Visitor(HttpUser)")
    if shapes:
        return reply(error="it has a LoadTestShape, but the number of users must be constant: remove it")
    kinds = list(classes.values())
    known = sorted(set().union(*map(tags_of, kinds)))
    for tag in tags:
        if tag not in known:
            return reply(error=f"no task of the locustfile has the tag \"{tag}\"; available tags: {', '.join(known) or 'none'}")
    if tags:
        # Users without a task cannot start.
        kinds = [kind for kind in kinds if not tags_of(kind).isdisjoint(tags)]
    environment = Environment(user_classes=kinds, events=locust.events, host=host, tags=tags or None)
    runner = environment.create_local_runner()
    gate, counts = Gate(), Counts()
    for task_set in (TaskSet, DefaultTaskSet):
        gate.hold(task_set)
    environment.events.request.add_listener(counts.request)
    environment.events.user_error.add_listener(counts.user_error)
    environment.events.init.fire(environment=environment, runner=runner, web_ui=None)
    reply(locust=locust.__version__, python=sys.version.split()[0])
    for line in FileObjectThread(sys.stdin.fileno(), "r", closefd=False):
        command = line.strip()
        if not command:
            continue
        if command == "spawn":
            gate.open.set()
            runner.start(users, float(spawn_rate))
            ready = wait_until(lambda: runner.user_count == users and len(gate.begun) >= users)
            if ready:
                reply(users=users)
            else:
                begun = f"{len(gate.begun)} of {users} users began a task in {PATIENCE_S} s"
                first = counts.task_error and f", the first error is {counts.task_error}"
                reply(error=f"{begun}{first}; check their on_start, or use fewer users")
        elif command == "open":
            gate.open.set()
            reply()
        elif command == "count":
            counts.clear()
            reply()
        elif command == "take":
            reply(**counts.taken())
        elif command == "close":
            gate.open.clear()
            if wait_until(lambda: gate.running == 0):
                reply()
            else:
                reply(error=f"{gate.running} tasks did not finish within {PATIENCE_S} s; give their requests a timeout")
        else:
            reply(error=f"there is no command {command}")
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
