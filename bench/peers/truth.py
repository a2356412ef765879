"""`make bench-truth`: what load generators report of servers whose latencies are known."""

import argparse
from dataclasses import dataclass, replace
from math import ceil

from . import machine
from .adapters import PEERS
from .launch import launch
from .servers import serving
from .table import show
from .task import Task, Unusable

PERCENTILES = (50, 95, 99, 99.9, 100)

SECONDS = 20
QUICK_SECONDS = 4

# What rpcgauge is held to: a part of the truth, or µs where that is more.
MOST_ERROR = 0.02
MOST_ERROR_US = 100
# The rate is held to this part.
MOST_RATE_ERROR = 0.001

STALL_EVERY_US, STALL_US = 1_000_000, 100_000


@dataclass(frozen=True)
class Stalling:
    """As `Stall` of bench/servers/rust/src/behaviour.rs: the same rules, worked out on paper."""

    # One call at a time, each taking so long, µs; None for all at once.
    service: float | None = None
    refuse_one_in: int = 0

    def settings(self):
        service = [f"service={self.service}us"] if self.service is not None else []
        refuse = [f"refuse-one-in={self.refuse_one_in}"] if self.refuse_one_in else []
        return ["stall", *service, *refuse]

    def percentiles(self, rate):
        """Latencies of calls that arrive evenly, and meet the stalls at every phase."""
        latencies, free_at, gap = [], 0.0, 1e6 / rate
        # The first period begins with an empty queue, the later ones with the stall's.
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
    """As `Delay` there."""

    shape: str
    # The quantile function: µs for a part from 0 to 1.
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


# In flight, or connections, are more than a stall and what queues behind it can fill, so that no
# call has to wait for another in the client; but for one scenario.
SCENARIOS = [
    Scenario("stall-1000", "stalls 100 ms in every second; 1,000 calls/s, HTTP/1.1",
             Stalling(), http1(1_000, 200)),
    # Fewer than a stall can fill: what most people's calls of a load generator look like.
    Scenario("stall-1000-few", "the same over 10 connections", Stalling(), http1(1_000, 10)),
    Scenario("stall-1000-grpc", "the same with gRPC", Stalling(), grpc(1_000, 400)),
    Scenario("stall-20000", "the same at 20,000 calls/s, HTTP/1.1", Stalling(), http1(20_000, 2_500)),
    Scenario("stall-20000-grpc", "the same with gRPC", Stalling(), grpc(20_000, 4_000)),
    Scenario("serial-1000", "and one call at a time, each taking 0.2 ms; 1,000 calls/s, gRPC",
             Stalling(service=200), grpc(1_000, 400)),
    Scenario("serial-20000", "and one call at a time, each taking 20 µs; 20,000 calls/s, gRPC",
             Stalling(service=20), grpc(20_000, 8_000)),
    Scenario("refuse-1000", "and refuses one call in 10; 1,000 calls/s, HTTP/1.1",
             Stalling(refuse_one_in=10), http1(1_000, 200)),
    Scenario("refuse-1000-grpc", "the same with gRPC", Stalling(refuse_one_in=10), grpc(1_000, 400)),
    *(Scenario(f"{kind}{suffix}", f"each answer delayed, {shape}; 1,000 calls/s, {title}",
               Delaying(shape, quantile), load)
      for kind, shape, quantile in [
          ("constant", "constant:10ms", lambda part: 10_000),
          ("uniform", "uniform:5ms:25ms", lambda part: 5_000 + 20_000 * part),
          ("bimodal", "bimodal:5ms:50ms:0.2", lambda part: 5_000 if part < 0.8 else 50_000)]
      for suffix, title, load in [("", "HTTP/1.1", http1(1_000, 200)),
                                  ("-grpc", "gRPC", grpc(1_000, 400))]),
]


def run(scenario, placement, seconds):
    """Runs every peer that can, each against a fresh server, and prints the table."""
    rate = scenario.load.rate
    truth = scenario.server.percentiles(rate)
    rows = [["truth", *(milliseconds(truth[p]) for p in PERCENTILES), f"{rate:,.0f}", "", "", "", ""]]
    reasons, records = {}, []
    load = scenario.load.with_calls(round(rate * seconds))
    for peer in PEERS:
        reason = peer.why_not(load)
        if reason:
            reasons[peer.name] = reason
            continue
        try:
            outcome, record = call(peer, scenario, load, placement)
        except Unusable as error:
            reasons[peer.name] = str(error)
            continue
        records.append((peer.name, record))
        rows.append(row(peer.name, outcome, record, truth, rate))
    print(f"## {scenario.name}: {scenario.title}\n")
    show(["", "p50, ms", "p95, ms", "p99, ms", "p99.9, ms", "max, ms", "calls/s", "failed",
          "latest send, ms", "within 2% or 0.1 ms", "rate within 0.1%"], rows)
    for name, record in records:
        print(f"- the server, called by {name}: {told(record)}")
    for name, reason in reasons.items():
        print(f"- {name}: {reason}")
    print(flush=True)


def call(peer, scenario, load, placement):
    name, *settings = scenario.server.settings()
    with serving(name, placement.server, *settings) as server:
        address = server.address(load.protocol)
        finished = launch(peer, replace(load, address=address), placement.client)
    return finished.outcome, server.record


def row(name, outcome, record, truth, rate):
    cells = []
    for percentile in PERCENTILES:
        said = outcome.percentiles.get(percentile)
        error = said is not None and percent(said - truth[percentile], truth[percentile])
        cells.append("–" if said is None else f"{milliseconds(said)} {error}".rstrip())
    delay = outcome.max_send_delay
    keeps_rate = abs(outcome.per_second / rate - 1) <= MOST_RATE_ERROR
    return [name, *cells, f"{outcome.per_second:,.1f}", str(outcome.failed),
            milliseconds(delay) if delay is not None else "not told",
            judge(outcome.percentiles, record["lateness_ns"], truth), "yes" if keeps_rate else "no"]


def judge(said, lateness, truth):
    """Whether all that is said is true. Where the server itself answered later than meant, the truth
    is known no better than that, which is another word than yes."""
    verdict = "yes"
    for percentile, value in said.items():
        error = value - truth[percentile]
        if abs(error) <= max(MOST_ERROR * truth[percentile], MOST_ERROR_US):
            continue
        server = lateness[f"{percentile:g}"] / 1e3 if lateness else 0
        if 0 < error <= max(MOST_ERROR * truth[percentile], MOST_ERROR_US) + server:
            verdict = "but for the server's lateness"
        else:
            return "no"
    return verdict


def told(record):
    """What the server says of its own answers."""
    delays, lateness = record["delay_ns"], record["lateness_ns"]
    if not delays:
        return "answered nothing"
    shown = ", ".join(f"{label(p)} {milliseconds(delays[p] / 1e3)}" for p in delays)
    return (f"{record['answered']:,} answered, {record['refused']:,} refused; answered after {shown} "
            f"ms; later than meant by {lateness['99'] / 1e3:.0f} µs at p99, "
            f"{lateness['100'] / 1e3:.0f} µs at most")


def label(percentile):
    return "max" if percentile == "100" else f"p{percentile}"


def milliseconds(micros):
    return f"{micros / 1e3:.2f}"


def percent(error, truth):
    """The error; a truth of nothing has no per cent."""
    return f"({100 * error / truth:+.1f}%)" if truth else ""


def main():
    names = [scenario.name for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(
        prog="scripts/bench-truth",
        description="Shows what load generators report of servers whose latencies are known.")
    parser.add_argument("--only", action="append", choices=names, help="this scenario; repeatable")
    parser.add_argument("--peer", action="append", choices=[peer.name for peer in PEERS],
                        help="this load generator; repeatable")
    parser.add_argument("--cores", help="the client's core and the server's, as 0,1")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SECONDS} s a run, not {SECONDS}")
    options = parser.parse_args()
    if options.peer:
        PEERS[:] = [peer for peer in PEERS if peer.name in options.peer]
    machine.prepare()
    placement = machine.Placement(machine.cores(options.cores))
    seconds = QUICK_SECONDS if options.quick else SECONDS
    print(f"{machine.description()}\n{placement}; {seconds} s a run, open loop.\n")
    for scenario in SCENARIOS:
        if not options.only or scenario.name in options.only:
            run(scenario, placement, seconds)
