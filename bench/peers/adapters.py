"""One adapter per load generator: builds its command and parses its report.

Every load generator runs with its fastest settings (no templates for ghz, discarded response bodies for k6).
If it can write JSON, the JSON is parsed.
"""

import json
import re
from pathlib import Path

from . import machine
from .known import FIRST_MESSAGE, GAP, LATENCY, MESSAGE_LATENCY
from .task import GRPC_MESSAGE, JSON, METHOD, PROTOCOLS, STREAM_METHODS, Outcome, Unusable

HERE = Path(__file__).parent
PERCENTILES = (50, 95, 99, 99.9)
MILLI, MICRO = 1e3, 1.0  # to µs
NANO = 1e-3
SECOND = 1e6


class Peer:
    """Defaults for all load generators."""

    name = None
    protocols = ("http1",)
    # Whether it can send calls at a rate without waiting for responses.
    open_loop = False
    # Whether it makes calls that stream, and the times that it reports.
    streams = False
    times = (LATENCY,)
    # Whether it can stop after a number of calls. If not, it stops after a time.
    counts_calls = True
    # The fraction of a scenario's calls that it issues, so that slow load generators take about as long as others.
    part = 1.0
    # The calls and connections with which it checks, before its load, that the server responds.
    probe_calls, probe_connections = 0, 0

    def program(self):
        return machine.program(self.name)

    def why_not(self, task):
        """Returns why it cannot perform a task, or None if it can."""
        if not self.program():
            return "not installed"
        if task.protocol not in self.protocols:
            return f"does not call over {PROTOCOLS[task.protocol]} here"
        if task.rate and not self.open_loop:
            return "no open loop"
        if task.stream and not self.streams:
            return "does not stream here"
        return None

    def command(self, task, scratch):
        """Returns the arguments after the program's name. Files that the program needs are put into `scratch`."""
        raise NotImplementedError

    def read(self, stdout, task):
        """Parses the output into an Outcome."""
        raise NotImplementedError

    def connections(self, task):
        """Returns how many connections it is expected to open for its load, or None if it decides that itself."""
        return task.connections


class Rpcgauge(Peer):
    """This project. Its findings (docs/report-schema.md) are parsed."""

    name = "rpcgauge"
    protocols = ("grpc", "http1")
    open_loop = True
    streams = True
    times = (LATENCY, FIRST_MESSAGE, GAP, MESSAGE_LATENCY)
    probe_calls, probe_connections = 1, 2

    def program(self):
        return str(machine.RPCGAUGE) if machine.RPCGAUGE.exists() else None

    def why_not(self, task):
        if not self.program():
            return "not built yet: cargo build --release"
        return super().why_not(task)

    def command(self, task, scratch):
        method, proto = grpc_method(task)
        target = {"grpc": [f"grpc://{task.address}/{method}", "--proto", proto],
                  "http1": [f"http://{task.address}/hello", "-X", "POST"]}[task.protocol]
        pace = (["--rate", f"{task.rate:g}"] if task.rate
                else ["--in-flight", str(task.in_flight)])
        # No warm-up, because the other load generators have none either.
        return ["load", *target, "--data", JSON, "--calls", str(task.calls), "--warmup", "0s",
                "--connections", str(task.connections), *pace, *self.streaming(task.stream), "--json", "--quiet",
                "--out", str(scratch / "run")]

    @staticmethod
    def streaming(stream):
        if not stream:
            return []
        # The default deadline is for short calls.
        options = ["--deadline", STREAM_DEADLINE]
        if stream.form == "bidirectional":
            options += ["--messages", str(stream.messages)]
        if stream.rate:
            options += ["--message-rate", f"{stream.rate:g}"]
        return options + (["--in-turn"] if stream.in_turn else [])

    def read(self, stdout, task):
        figures = json.loads(stdout)["variants"][0]["cells"][0]["figures"]
        calls, latency = figures["calls"], figures.get("latency")
        outcome = Outcome(calls["answered"], calls["started"] - calls["answered"], figures["goodput"],
                          send_delay=self.percentiles(figures["send_delay"]))
        # No call has a latency if all of them failed, as one long stream does if this machine stalls once.
        if latency:
            outcome.mean, outcome.percentiles = latency["mean_ns"] * NANO, self.percentiles(latency)
        messages = figures.get("messages")
        if messages:
            outcome.messages = messages["received"]
            outcome.messages_per_second = messages["received_per_second"]
            times = {FIRST_MESSAGE: "first", GAP: "gap", MESSAGE_LATENCY: "latency"}
            outcome.message_times = {name: self.percentiles(messages[key])
                                     for name, key in times.items() if messages.get(key)}
        return outcome

    @staticmethod
    def percentiles(times):
        keys = {p: f"p{p:g}_ns".replace(".", "") for p in PERCENTILES} | {100: "max_ns"}
        # A percentile is missing if no call lies beyond it.
        return {p: times[key] * NANO for p, key in keys.items() if times.get(key) is not None}


class Floor(Peer):
    """Two bare loops (bench-floor). This is not a load generator but the reference for all of them."""

    protocols = ("grpc", "http1")

    streams = True

    def __init__(self, connections, request, response, stream=None):
        self.name = "floor" if connections == 1 else f"floor, {connections} connections"
        self.settings = [f"connections={connections}", f"request={request}", f"response={response}"]
        # A stream of which each message waits for its answer costs what calls cost.
        if stream and not stream.in_turn:
            self.settings.append(f"stream={stream.form}")

    def program(self):
        return str(machine.SERVERS / "bench-floor")

    def command(self, task, scratch):
        return ["call", task.address, f"calls={task.messages or task.calls}", *self.settings]

    def read(self, stdout, task):
        report = json.loads(stdout)
        per_second = report["calls"] * 1e9 / report["elapsed_ns"]
        mean = report["mean_ns"]
        return Outcome(report["calls"], 0, per_second, mean and mean * NANO)


class H2load(Peer):
    """nghttp2's load generator. It writes only text, so whole lines are matched."""

    name = "h2load"
    protocols = ("grpc", "http1")

    REQUESTS = re.compile(r"requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, "
                          r"\d+ errored, \d+ timeout")
    FINISHED = re.compile(r"finished in ([\d.]+)(us|ms|s), ([\d.]+) req/s, \S+")
    TIMES = re.compile(r"time for request: +\S+ +\S+ +([\d.]+)(us|ms|s) +\S+ +\S+")
    UNITS = {"us": MICRO, "ms": MILLI, "s": SECOND}

    def command(self, task, scratch):
        grpc = task.protocol == "grpc"
        body = scratch / "body"
        body.write_bytes(GRPC_MESSAGE if grpc else JSON.encode())
        streams = task.in_flight // task.connections
        kind = (["-m", str(streams), "-H", "content-type: application/grpc", "-H", "te: trailers"]
                if grpc else ["--h1", "-H", "content-type: application/json"])
        path = METHOD if grpc else "hello"
        return ["-n", str(task.calls), "-c", str(task.connections), "-t", "1", *kind,
                "-d", str(body), f"http://{task.address}/{path}"]

    def read(self, stdout, task):
        lines = stdout.splitlines()
        succeeded, failed = map(int, only(self.REQUESTS, lines))
        mean, unit = only(self.TIMES, lines)
        return Outcome(succeeded, failed, float(only(self.FINISHED, lines)[2]),
                       float(mean) * self.UNITS[unit])


class Wrk(Peer):
    """wrk, whose script hook `done` writes JSON."""

    name = "wrk"
    counts_calls = False
    probe_connections = 1

    def command(self, task, scratch):
        # wrk accepts only whole seconds.
        return ["-t", "1", "-c", str(task.connections), "-d", f"{max(1, round(task.seconds))}s",
                "-s", str(HERE / "report.wrk.lua"), f"http://{task.address}/hello", "--", JSON]

    def read(self, stdout, task):
        report = json.loads(stdout.splitlines()[-1])
        percentiles = {p: report[f"p{p:g}"] for p in PERCENTILES}
        percentiles[100] = report["max"]
        return Outcome(report["requests"] - report["errors"], report["errors"],
                       report["requests"] / report["elapsed"] * SECOND, report["mean"], percentiles)


class Hey(Peer):
    """hey, whose summary is text. Its times have a resolution of 0.1 ms, so its mean is not used."""

    name = "hey"
    part = 0.5

    RATE = re.compile(r"  Requests/sec:\t([\d.]+)")
    STATUS = re.compile(r"  \[(\d{3})\]\t(\d+) responses")

    def command(self, task, scratch):
        return ["-n", str(task.calls), "-c", str(task.connections), "-m", "POST", "-d", JSON,
                "-T", "application/json", f"http://{task.address}/hello"]

    def read(self, stdout, task):
        lines = stdout.splitlines()
        statuses = [match.groups() for match in map(self.STATUS.fullmatch, lines) if match]
        answered = sum(int(count) for status, count in statuses if status == "200")
        failed = sum(int(count) for status, count in statuses if status != "200")
        return Outcome(answered, failed, float(only(self.RATE, lines)[0]))


class Oha(Peer):
    """oha, with or without its latency correction at a rate."""

    name = "oha"
    open_loop = True
    part = 0.5

    def __init__(self, correct=False):
        self.correct = correct
        if correct:
            self.name = "oha, corrected"

    def program(self):
        return machine.program("oha")

    def why_not(self, task):
        if self.correct and not task.rate:
            return "corrects latencies only at a rate"
        return super().why_not(task)

    def command(self, task, scratch):
        rate = ["-q", f"{task.rate:g}"] if task.rate else []
        correction = ["--latency-correction"] if self.correct else []
        return ["--no-tui", "--output-format", "json", "-n", str(task.calls),
                "-c", str(task.connections), *rate, *correction, "-m", "POST", "-d", JSON,
                "-T", "application/json", f"http://{task.address}/hello"]

    def read(self, stdout, task):
        report = json.loads(stdout)
        summary, at = report["summary"], report["latencyPercentiles"]
        percentiles = {p: at[f"p{p:g}"] * SECOND for p in PERCENTILES}
        percentiles[100] = summary["slowest"] * SECOND
        statuses = report["statusCodeDistribution"]
        answered = statuses.get("200", 0)
        failed = sum(statuses.values()) - answered + sum(report["errorDistribution"].values())
        return Outcome(answered, failed, summary["requestsPerSec"], summary["average"] * SECOND,
                       percentiles)


class Fortio(Peer):
    """fortio. It can call only its own gRPC services."""

    name = "fortio"
    open_loop = True

    def command(self, task, scratch):
        return ["load", "-quiet", "-json", "-", "-c", str(task.connections),
                "-qps", f"{task.rate or 0:g}", "-n", str(task.calls), "-allow-initial-errors",
                # Use buckets of 0.1 ms, because the default of 1 ms is longer than a local call.
                "-r", "0.0001", "-p", ",".join(f"{p:g}" for p in PERCENTILES),
                "-content-type", "application/json", "-payload", JSON,
                f"http://{task.address}/hello"]

    def read(self, stdout, task):
        report = json.loads(stdout)
        times = report["DurationHistogram"]
        percentiles = {each["Percentile"]: each["Value"] * SECOND for each in times["Percentiles"]}
        percentiles[100] = times["Max"] * SECOND
        statuses = report["RetCodes"]
        answered = statuses.get("200", 0)
        return Outcome(answered, sum(statuses.values()) - answered, report["ActualQPS"],
                       times["Avg"] * SECOND, percentiles)


class Ghz(Peer):
    """ghz, whose workers wait for their responses by default, even at a rate. Its JSON lists every call, which
    costs CPU time. In closed loops, where its CPU time is measured, its single line for InfluxDB is parsed
    instead."""

    name = "ghz"
    protocols = ("grpc",)
    open_loop = True
    streams = True
    part = 0.2

    def __init__(self, is_async=False):
        self.is_async = is_async
        if is_async:
            self.name = "ghz, async"

    def program(self):
        return machine.program("ghz")

    def why_not(self, task):
        if self.is_async and not task.rate:
            return "is asynchronous only at a rate"
        if task.stream and task.stream.in_turn:
            return "does not wait for the answer to each message"
        return super().why_not(task)

    def command(self, task, scratch):
        rate = ["--rps", f"{task.rate:g}"] if task.rate else []
        if self.is_async:
            rate.append("--async")
        method, proto = grpc_method(task)
        return ["--insecure", "--proto", proto, "--call", method, "-d", JSON, *self.streaming(task.stream),
                "--disable-template-functions", "--disable-template-data", "--cpus", "1",
                "-n", str(task.calls), "-c", str(task.in_flight),
                "--connections", str(task.connections), *rate,
                "-O", "json" if task.rate else "influx-summary", task.address]

    @staticmethod
    def streaming(stream):
        if not stream:
            return []
        options = ["--timeout", STREAM_DEADLINE]
        if stream.form == "bidirectional":
            options += ["--stream-call-count", str(stream.messages)]
        return options + ([f"--stream-interval={1e6 / stream.rate:.0f}us"] if stream.rate else [])

    def read(self, stdout, task):
        outcome = self.read_calls(stdout, task)
        if task.stream:
            # It reports no messages, but a call succeeds only if all of them came; the server's count is checked.
            outcome.messages = outcome.answered * task.stream.messages
            outcome.messages_per_second = outcome.per_second * task.stream.messages
        return outcome

    def read_calls(self, stdout, task):
        if not task.rate:
            # The line is `measurement,tags fields timestamp`, and no tag here contains a space.
            fields = dict(pair.split("=") for pair in stdout.split(" ")[1].split(","))
            failed = int(fields["errors"])
            return Outcome(int(fields["count"]) - failed, failed, float(fields["rps"]),
                           float(fields["average"]) * NANO)
        report = json.loads(stdout)
        at = {each["percentage"]: each["latency"] for each in report["latencyDistribution"] or []}
        percentiles = {p: at[p] * NANO for p in PERCENTILES if p in at}
        percentiles[100] = report["slowest"] * NANO
        answered = report["statusCodeDistribution"].get("OK", 0)
        return Outcome(answered, report["count"] - answered, report["rps"],
                       report["average"] * NANO, percentiles)


class K6(Peer):
    """k6. Its script writes the summary as JSON."""

    name = "k6"
    protocols = ("grpc", "http1")
    open_loop = True
    part = 0.05

    # A virtual user has one call in flight and its own interpreter. More users than this need too much memory.
    MAX_USERS = 500

    def why_not(self, task):
        if task.connections > task.in_flight:
            return "opens exactly one connection per user"
        return super().why_not(task)

    def connections(self, task):
        # At a rate, k6 uses as many virtual users as it needs.
        return None if task.rate else self.users(task)

    def users(self, task):
        return min(task.in_flight, self.MAX_USERS)

    def command(self, task, scratch):
        users = self.users(task)
        if task.rate:
            plan = {"executor": "constant-arrival-rate", "rate": round(task.rate), "timeUnit": "1s",
                    "duration": f"{task.calls / task.rate:.0f}s", "preAllocatedVUs": users}
        else:
            plan = {"executor": "shared-iterations", "vus": users, "iterations": task.calls,
                    "maxDuration": "10m"}
        settings = {"plan": plan, "protocol": task.protocol, "address": task.address, "body": JSON,
                    "method": METHOD, "proto": str(machine.PROTO)}
        return ["run", "--quiet", "--no-usage-report", "--log-output", "none", "--address", "",
                "-e", f"TASK={json.dumps(settings)}", str(HERE / "script.k6.js")]

    def read(self, stdout, task):
        report = json.loads(stdout)
        times = report["times"]
        percentiles = {p: times[f"p({p:g})"] * MILLI for p in PERCENTILES}
        percentiles[100] = times["max"] * MILLI
        return Outcome(report["answered"], report["failed"], report["per_second"],
                       times["avg"] * MILLI, percentiles)


# The deadline of calls that stream, longer than any run takes.
STREAM_DEADLINE = "300s"


def grpc_method(task):
    """Returns the method that a task calls over gRPC, and its .proto file."""
    if task.stream:
        return STREAM_METHODS[task.stream.form], str(machine.STREAMS_PROTO)
    return METHOD, str(machine.PROTO)


def only(pattern, lines):
    """Returns the groups of the only line that fully matches `pattern`."""
    matches = [match for match in map(pattern.fullmatch, lines) if match]
    if len(matches) != 1:
        raise Unusable(f"{len(matches)} lines match {pattern.pattern!r}, expected one")
    return matches[0].groups()


PEERS = [Rpcgauge(), H2load(), Wrk(), Fortio(), Oha(), Oha(correct=True), Hey(), Ghz(),
         Ghz(is_async=True), K6()]
