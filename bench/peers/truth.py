"""`make bench-truth`: what load generators report about servers with known latencies."""

import argparse
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import ceil

from . import machine
from .adapters import PEERS
from .calm import calmest
from .checks import departures
from .launch import launch
from .servers import serving
from .table import left_out, show
from .task import Task, Unusable

PERCENTILES = (50, 95, 99, 99.9, 100)
# With short delays, a stall of the machine determines the maximum latency.
ALL_BUT_THE_MAX = PERCENTILES[:-1]

SECONDS = 20
QUICK_SECONDS = 2

# The maximum error: a fraction of the truth or a number of µs, whichever is larger.
MAX_ERROR = 0.02
MAX_ERROR_US = 100
# The maximum error of the rate, as a fraction.
MAX_RATE_ERROR = 0.001

STALL_EVERY_US, STALL_US = 1_000_000, 100_000


@dataclass(frozen=True)
class Stalling:
    """Calculates latencies by the same rules as `Stall` in bench/servers/rust/src/behaviour.rs."""

    held_to = PERCENTILES
    most_runs = 1

    # The time that a call takes, one call at a time, in µs; None to serve all calls concurrently, in no time.
    service: float | None = None
    refuse_one_in: int = 0

    def settings(self):
        service = [f"service={self.service}us"] if self.service is not None else []
        refuse = [f"refuse-one-in={self.refuse_one_in}"] if self.refuse_one_in else []
        return ["stall", *service, *refuse]

    def percentiles(self, rate):
        """Returns the latencies of evenly spaced calls, which arrive in every phase of the stalls."""
        latencies, free_at, gap = [], 0.0, 1e6 / rate
        # The first period begins with an empty queue, later ones with the queue that the stall left.
        for call in range(round(rate * 5)):
            came = call * gap
            if self.service is None:
                answered = self.working_from(came)
            else:
                answered = free_at = self.work(max(came, free_at), self.service)
            if came >= STALL_EVERY_US:
                latencies.append(answered - came)
        return nearest_ranks(latencies)

    def working_from(self, now):
        phase = now % STALL_EVERY_US
        return now if phase < STALL_EVERY_US - STALL_US else now + STALL_EVERY_US - phase

    def work(self, now, length):
        at = self.working_from(now)
        until_stall = STALL_EVERY_US - STALL_US - at % STALL_EVERY_US
        return at + length if length <= until_stall else at + length + STALL_US


@dataclass(frozen=True)
class Delaying:
    """Calculates latencies by the same rules as `Delay` in behaviour.rs."""

    held_to = ALL_BUT_THE_MAX
    # If a core is taken away for a few milliseconds, this affects more calls than lie beyond p99.9, and for longer
    # than these delays. While the host of a virtual machine takes too much time, the run is repeated.
    most_runs = 5

    shape: str
    # The quantile function: maps a fraction from 0 to 1 to a latency in µs.
    quantile: object

    def settings(self):
        return ["delay", f"shape={self.shape}"]

    def percentiles(self, rate):
        return {p: self.quantile(p / 100) for p in PERCENTILES}


def nearest_ranks(values):
    values = sorted(values)
    return {p: values[max(1, ceil(p / 100 * len(values))) - 1] for p in PERCENTILES}


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    server: object
    load: Task


def grpc(rate, in_flight):
    return Task("grpc", "", 4, in_flight, 0, rate)


def http1(rate, connections):
    return Task("http1", "", connections, connections, 0, rate)


# Except in one scenario, more calls in flight (or connections) are allowed than a stall and its queue can fill,
# so that no call waits for another one in the client.
SCENARIOS = [
    Scenario("stall-1000", "stalls 100 ms in every second; 1,000 calls/s, HTTP/1.1",
             Stalling(), http1(1_000, 200)),
    # Fewer connections than a stall can fill, which is how most people use a load generator.
    Scenario("stall-1000-few", "the same over 10 connections", Stalling(), http1(1_000, 10)),
    Scenario("stall-1000-grpc", "the same with gRPC", Stalling(), grpc(1_000, 400)),
    Scenario("stall-20000", "the same at 20,000 calls/s, HTTP/1.1", Stalling(), http1(20_000, 2_500)),
    Scenario("stall-20000-grpc", "the same with gRPC", Stalling(), grpc(20_000, 4_000)),
    Scenario("serial-1000", "and one call at a time, each taking 0.2 ms; 1,000 calls/s, HTTP/1.1",
             Stalling(service=200), http1(1_000, 400)),
    Scenario("serial-1000-grpc", "the same with gRPC", Stalling(service=200), grpc(1_000, 400)),
    Scenario("serial-20000", "and one call at a time, each taking 20 µs; 20,000 calls/s, HTTP/1.1",
             Stalling(service=20), http1(20_000, 4_000)),
    Scenario("serial-20000-grpc", "the same with gRPC", Stalling(service=20), grpc(20_000, 8_000)),
    Scenario("refuse-1000", "and refuses one call in 10; 1,000 calls/s, HTTP/1.1",
             Stalling(refuse_one_in=10), http1(1_000, 200)),
    Scenario("refuse-1000-grpc", "the same with gRPC", Stalling(refuse_one_in=10), grpc(1_000, 400)),
    Scenario("refuse-20000-grpc", "the same at 20,000 calls/s, gRPC", Stalling(refuse_one_in=10),
             grpc(20_000, 4_000)),
    *(Scenario(f"{kind}{suffix}", f"each response delayed, {shape}; 1,000 calls/s, {title}",
               Delaying(shape, quantile), load)
      for kind, shape, quantile in [
          ("constant", "constant:10ms", lambda part: 10_000),
          ("uniform", "uniform:5ms:25ms", lambda part: 5_000 + 20_000 * part),
          ("bimodal", "bimodal:5ms:50ms:0.2", lambda part: 5_000 if part < 0.8 else 50_000)]
      for suffix, title, load in [("", "HTTP/1.1", http1(1_000, 200)),
                                  ("-grpc", "gRPC", grpc(1_000, 400))]),
]


HEADINGS = ["", *(f"{name}, ms" for name in ("p50", "p95", "p99", "p99.9", "max")), "calls/s", "failed",
            "sent late, p99 and max, ms", "latencies true", "rate held"]


def run(scenario, placement, seconds, markdown):
    """Runs every load generator that is able to, each against a new server, and prints the table."""
    rate = scenario.load.rate
    truth = scenario.server.percentiles(rate)
    rows = [["truth", *(milliseconds(truth[p]) for p in PERCENTILES), f"{rate:,.0f}", "", "", "", ""]]
    notes, reasons = [], {}
    load = scenario.load.with_calls(round(rate * seconds))
    for peer in PEERS:
        reason = peer.why_not(load)
        if not reason:
            try:
                outcome, record, warnings = call(peer, scenario, load, placement)
            except Unusable as error:
                reason = str(error)
        if reason:
            reasons[peer.name] = reason
            continue
        rows.append(row(peer.name, outcome, record, scenario, truth))
        if peer.name == "rpcgauge":
            rows.append(server_row(record))
        notes.append(f"the server, called by {peer.name}: {told(record)}")
        notes += [f"warning: {peer.name} {warning}" for warning in warnings]
    print(f"## {scenario.name}: {scenario.title}\n")
    show(HEADINGS, rows, markdown)
    for note in notes + left_out(reasons):
        print(f"- {note}")
    print(flush=True)


# Time that the host takes from the client's core affects every figure and is nobody's fault. It is reported from
# this length on, in ms.
STOLEN_MS = 1

# A run is calm if the host took at most this fraction of the two cores' time.
CALM_PART = 1 / 500

# Up to this rate, client and server take precedence over all other programs, because a program that needs the
# core for a few milliseconds per second would affect p99. Above this rate, some load generators never rest, and
# the kernel would stop them for 50 ms per second (sched(7), RT throttling).
REALTIME_RATE = 1_000


def call(peer, scenario, load, placement):
    """Returns the load generator's report, the server's record, and warnings about both."""
    calm_ms = CALM_PART * 2 * 1000 * load.calls / load.rate
    calm = calmest(lambda: call_once(peer, scenario, load, placement), placement, calm_ms,
                   scenario.server.most_runs)
    outcome, record, warnings = calm.result
    if calm.client >= STOLEN_MS:
        where = f", in the calmest of {calm.runs} runs" if calm.runs > 1 else ""
        warnings.append(
            f"lost its core for {calm.client:.0f} ms because the host gave it to others{where}")
    return outcome, record, warnings


def call_once(peer, scenario, load, placement):
    """Runs a load generator once against a new server."""
    name, *settings = scenario.server.settings()
    settings.append(f"unrecorded={peer.probe_calls}")
    realtime = load.rate <= REALTIME_RATE and not machine.why_not_realtime()
    with (machine.awake(placement) if realtime else nullcontext(),
          serving(name, placement.server, *settings, realtime=realtime) as server):
        task = replace(load, address=server.address(load.protocol))
        outcome = launch(peer, task, placement.client, realtime).outcome
    warnings = [f"did something else: it {each}"
                for each in departures(peer, task, outcome, server.record)]
    return outcome, server.record, warnings


def row(name, outcome, record, scenario, truth):
    rate = scenario.load.rate
    held_to = {p: said for p, said in outcome.percentiles.items() if p in scenario.server.held_to}
    cells = []
    for percentile in PERCENTILES:
        said = outcome.percentiles.get(percentile)
        cells.append("–" if said is None else
                     f"{milliseconds(said)} ({error(said, truth[percentile])})")
    late = [outcome.send_delay.get(percentile) for percentile in (99, 100)]
    came = record["arrived_per_second"]
    # Uses the server's clock, because load generators differ in what they report as their rate.
    holds_rate = came is not None and abs(came / rate - 1) <= MAX_RATE_ERROR
    return [name, *cells, f"{came:,.1f}" if came is not None else "–", f"{outcome.failed:,}",
            ", ".join(milliseconds(each) for each in late if each is not None) or "not reported",
            judge(held_to, record, truth), "yes" if holds_rate else "no"]


def server_row(record):
    """Returns the server's record of the calls in the row above."""
    served = of_server(record["delay_ns"])
    cells = [milliseconds(served[p]) if p in served else "–" for p in PERCENTILES]
    return ["– the server's record", *cells, "", f"{record['refused']:,}", "", "", ""]


def judge(said, record, truth):
    """Judges whether every reported percentile is true. If one is not, it may still be what was served: the server
    was late if calls arrived as calculated and were answered as reported."""
    if not said:
        return "none reported"
    if all(is_near(value, truth[p]) for p, value in said.items()):
        return "yes"
    meant, served = of_server(record["meant_ns"]), of_server(record["delay_ns"])
    came_as_on_paper = all(p in meant and is_near(meant[p], truth[p]) for p in said)
    if came_as_on_paper and all(is_near(value, served[p]) for p, value in said.items()):
        return "as served"
    return "no"


def is_near(value, truth):
    return abs(value - truth) <= max(MAX_ERROR * truth, MAX_ERROR_US)


def of_server(times):
    """Converts a server's percentiles to µs."""
    return {float(p): time / 1e3 for p, time in (times or {}).items()}


def told(record):
    """Describes the server's record of its own responses."""
    delays, lateness = of_server(record["delay_ns"]), of_server(record["lateness_ns"])
    if not delays:
        return "no responses"
    shown = ", ".join(f"{label(p)} {milliseconds(delays[p])}" for p in delays)
    return (f"{record['answered']:,} answered, {record['refused']:,} refused; answered after {shown} "
            f"ms; later than intended by {lateness[99]:.0f} µs at p99, by at most {lateness[100]:.0f} µs")


def label(percentile):
    return "max" if percentile == 100 else f"p{percentile:g}"


def milliseconds(micros):
    return f"{micros / 1e3:.2f}"


def error(said, truth):
    """Formats the error in percent or, if it is large, as a multiple of the truth. A truth of 0 has neither."""
    if not truth:
        return f"{milliseconds(said)} off"
    return f"× {said / truth:,.0f}" if said > 10 * truth else f"{100 * (said / truth - 1):+.1f}%"


def main():
    names = [scenario.name for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(
        prog="scripts/bench-truth",
        description="Shows what load generators report about servers with known latencies.")
    parser.add_argument("--only", action="append", choices=names, help="run only this scenario; repeatable")
    parser.add_argument("--peer", action="append", choices=[peer.name for peer in PEERS],
                        help="run only this load generator; repeatable")
    parser.add_argument("--cores", help="the client's and the server's core, for example 0,1")
    parser.add_argument("--seconds", type=int, help=f"length of a run (default: {SECONDS})")
    parser.add_argument("--quick", action="store_true",
                        help=f"{QUICK_SECONDS} s per run: checks that everything runs; the figures are meaningless")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    parser.add_argument("--rpcgauge", metavar="PATH", help="use this program instead of target/release/rpcgauge")
    options = parser.parse_args()
    seconds = options.seconds if options.seconds is not None else (
        QUICK_SECONDS if options.quick else SECONDS)
    if seconds < 1:
        parser.error("--seconds must be 1 or more: the server stalls once per second")
    if options.peer:
        PEERS[:] = [peer for peer in PEERS if peer.name in options.peer]
    machine.use_rpcgauge(options.rpcgauge)
    machine.prepare()
    placement = machine.Placement(machine.cores(options.cores))
    reason = machine.why_not_realtime()
    priority = f"none ({reason}): expect late responses" if reason else f"up to {REALTIME_RATE:,} calls/s"
    print(f"{machine.description()}\n{placement}, real-time priority {priority}; {seconds} s per run, "
          "open loop.\n")
    for scenario in SCENARIOS:
        if options.only and scenario.name not in options.only:
            continue
        reason = machine.allow_connections(scenario.load.connections)
        if reason:
            print(f"## {scenario.name}: skipped: {reason}\n", flush=True)
            continue
        run(scenario, placement, seconds, options.markdown)
