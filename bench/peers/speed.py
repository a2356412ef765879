"""`make bench-peers`: the cost of a call for each load generator, against the same server."""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Callable

from . import machine
from .adapters import PEERS, Floor
from .calm import calmest
from .checks import departures, since
from .launch import launch
from .servers import serving
from .table import left_out, show, spread
from .task import Stream, Task, Unusable

# Each run is preceded by a short one, with this fraction of its calls and time. The difference between the two
# is the cost of the calls alone, without the cost of starting, connecting and reporting.
BASELINE_PART = 1 / 20
BASELINE_SECONDS = 1

# The numbers of calls in the scenarios are for runs of about this length.
SECONDS = 4
QUICK_PART = 1 / 20

# A pair of runs is calm if the host takes the two cores away for at most this fraction of the long run's time.
CALM_PART = 1 / 100

# How many calls to count bytes over for the floor: enough that the bytes for connecting do not matter.
COUNTED_CALLS = 5_000

# Peak memories count as equal up to this ratio, because allocators request memory in chunks.
SAME_MEMORY = 1.05


@dataclass
class Pair:
    """A load generator's short and long run in one round."""

    small: object
    large: object
    small_task: Task
    large_task: Task


def cpu_per_call(pair):
    """Returns the CPU time per call in µs or, of streams, per message: a message sent and its answer, or a message
    of the server's stream."""
    calls = total(pair.large) - total(pair.small)
    return (pair.large.cpu - pair.small.cpu) / calls


def memory_per_connection(pair):
    """Returns the memory per connection during the calls, in KiB. The peak could hide it, because it may occur
    at the end, during reporting."""
    connections = pair.large_task.connections - pair.small_task.connections
    return (pair.large.resident_kib - pair.small.resident_kib) / connections


def memory_ratio(pair):
    """Returns the long run's peak memory divided by the short run's."""
    return pair.large.peak_kib / pair.small.peak_kib


def total(run):
    return run.outcome.messages or run.outcome.calls


@dataclass(frozen=True)
class Wanted:
    """The maximum for rpcgauge's figure: absolute, or as a multiple of another load generator's figure."""

    most: float
    times: str | None = None
    servers: tuple = ("go", "bare")


@dataclass(frozen=True)
class Scenario:
    """A load for every load generator, and the figure to compare."""

    name: str
    title: str
    large: Task
    wanted: tuple
    figure: Callable = cpu_per_call
    figure_title: str = "client CPU per call, µs"
    servers: tuple = ("go", "bare")
    # How the short run differs, if not by a fraction of the calls. Memory is compared at the same numbers for
    # all load generators, so none of them issues only its own fraction of the calls.
    small: dict = field(default_factory=dict)
    # Whether rpcgauge's mean latency must not exceed any other load generator's.
    wants_mean: bool = False
    has_floor: bool = False
    # The minimum of rpcgauge's messages per second.
    least_per_second: int | None = None
    # The maximum number of rounds, if fewer are enough: memory hardly differs between rounds.
    most_rounds: int | None = None
    # The maximum number of attempts at a pair of runs while the host takes more than CALM_PART of the cores.
    # Some kernels count stolen time as the program's CPU time.
    most_runs: int = 3


def task(protocol, connections, in_flight, calls, rate=None):
    return Task(protocol, "", connections, in_flight, calls, rate)


def one_stream(name, title, messages, wanted, form="bidirectional", in_turn=False):
    """Returns the scenario of one call of many messages."""
    return Scenario(name, title, replace(task("grpc", 1, 1, 1), stream=Stream(form, messages, in_turn=in_turn)), wanted,
                    figure_title="client CPU per message, µs", servers=("bare",), has_floor=True,
                    least_per_second=None if in_turn else 100_000)


def ten_million(name, title, form):
    """Returns the scenario that compares a stream's memory with that of a short one."""
    return Scenario(name, f"{title} of 10,000,000 messages against 100,000",
                    replace(task("grpc", 1, 1, 1), stream=Stream(form, 10_000_000)), (Wanted(SAME_MEMORY),),
                    figure=memory_ratio, figure_title="peak memory, ratio of the two", servers=("bare",),
                    small={"stream": Stream(form, 100_000)}, most_rounds=2, most_runs=1)


OF_STREAMS = (Wanted(1.5, "floor"), Wanted(0.5, "ghz"))

SCENARIOS = [
    Scenario("grpc-4x25", "gRPC, 4 connections with 25 streams each",
             task("grpc", 4, 100, 400_000),
             (Wanted(0.5, "h2load"), Wanted(1 / 20, "ghz"), Wanted(1 / 40, "k6"))),
    Scenario("grpc-1", "gRPC, one call in flight", task("grpc", 1, 1, 100_000),
             (Wanted(0.9, "h2load"), Wanted(1.15, "floor", ("bare",))),
             wants_mean=True, has_floor=True),
    Scenario("http1-1", "HTTP/1.1 with JSON, 1 connection", task("http1", 1, 1, 100_000),
             (Wanted(0.95, "wrk"), Wanted(1.15, "floor", ("bare",))),
             wants_mean=True, has_floor=True),
    Scenario("http1-50", "HTTP/1.1 with JSON, 50 connections", task("http1", 50, 50, 200_000),
             (Wanted(0.95, "wrk"), Wanted(1.15, "floor", ("bare",))), has_floor=True),
    Scenario("idle-10000", "HTTP/1.1, 10,000 connections with 2,000 calls per second over all",
             replace(task("http1", 10_000, 100, 20_000, rate=2_000), wants_resident=True),
             (Wanted(4.0),),
             figure=memory_per_connection, figure_title="resident memory per connection, KiB",
             servers=("bare",), small={"connections": 100}, most_runs=1),
    Scenario("million", "gRPC, 4 × 25: 1,000,000 calls against 10,000",
             task("grpc", 4, 100, 1_000_000), (Wanted(SAME_MEMORY),),
             figure=memory_ratio, figure_title="peak memory, ratio of the two",
             servers=("bare",), small={"calls": 10_000}, most_rounds=2, most_runs=1),
    one_stream("stream", "one server stream", 4_000_000, OF_STREAMS, form="server"),
    one_stream("echo", "one bidirectional stream", 2_000_000, OF_STREAMS),
    one_stream("echo-in-turn", "one bidirectional stream, one message at a time", 100_000, OF_STREAMS, in_turn=True),
    ten_million("stream-10-million", "one server stream", "server"),
    ten_million("echo-10-million", "one bidirectional stream", "bidirectional"),
]


def tasks(scenario, peer, address, part):
    """Returns a load generator's short and long task, with `part` of the scenario's calls and time."""
    large = replace(scenario.large, address=address, seconds=max(2, SECONDS * part))
    large = large.scaled(part)
    if scenario.small:
        return replace(large, **scenario.small), large
    large = large.scaled(peer.part)
    return replace(large, seconds=BASELINE_SECONDS).scaled(BASELINE_PART), large


def bare_settings(task):
    """Returns the arguments with which the bare server serves a task."""
    stream = task.stream
    if not stream:
        return []
    return [f"stream={stream.form}", *([f"messages={stream.messages}"] if stream.form == "server" else [])]


def call_bytes(scenario, placement):
    """Returns the bytes of a request and of its response, or of a stream's messages, as counted by the bare server, and
    whose they are."""
    large, reasons = scenario.large, {}
    counted = replace(large.with_messages(COUNTED_CALLS) if large.stream else large.with_calls(COUNTED_CALLS),
                      seconds=1)
    for peer in PEERS:
        reason = peer.why_not(counted)
        if reason:
            reasons[peer.name] = reason
            continue
        with serving("bare", placement.server, *bare_settings(counted)) as server:
            address = server.address(counted.protocol)
            try:
                launch(peer, replace(counted, address=address), placement.client)
            except Unusable as error:
                reasons[peer.name] = str(error)
                continue
        record = server.record
        responses = record["messages"] or record["answered"]
        requests = responses if not large.stream or large.stream.form == "bidirectional" else record["answered"]
        return round(record["read_bytes"] / requests), round(record["written_bytes"] / responses), peer.name
    raise SystemExit("\n".join(["no load generator succeeded, so the floor's numbers of bytes are unknown:",
                                *left_out(reasons)]))


class Bench:
    """One scenario against one server: runs all rounds, then prints the table."""

    def __init__(self, scenario, server_name, placement, options):
        self.scenario, self.server_name = scenario, server_name
        self.placement, self.options = placement, options
        self.pairs = {}  # by load generator: one pair per round
        self.reasons = {}  # by load generator: why it has no pairs
        self.departures = {}  # by load generator: how it deviated from its task
        self.stolen = []  # how long the host took the two cores away during each pair, in ms

    def run(self):
        protocol = self.scenario.large.protocol
        with serving(self.server_name, self.placement.server) as server:
            peers = [(peer, server.address(protocol), server) for peer in PEERS]
            if not (self.scenario.has_floor and self.server_name == "bare"):
                self.rounds(peers)
                return
            request, response, whose = call_bytes(self.scenario, self.placement)
            print(f"Floor: requests of {request} bytes and responses of {response} bytes, like those of {whose}.\n")
            # The floor in docs/method.md has one connection. A second floor uses the scenario's connections in
            # turn.
            stream = self.scenario.large.stream
            floors = [Floor(connections, request, response, stream)
                      for connections in sorted({1, self.scenario.large.connections})]
            with ExitStack() as stack:
                running = [(floor, stack.enter_context(
                    serving("floor", self.placement.server, *floor.settings))) for floor in floors]
                self.rounds([*((floor, server.address(protocol), None)
                               for floor, server in running), *peers])

    def rounds(self, peers):
        for peer, *_ in peers:
            reason = peer.why_not(self.scenario.large)
            if reason:
                self.reasons[peer.name] = reason
        able = [each for each in peers if each[0].name not in self.reasons]
        for number in range(min(self.options.rounds, self.scenario.most_rounds or sys.maxsize)):
            # The order rotates, so that drift favors none of them.
            first = number % max(1, len(able))
            for peer, address, server in able[first:] + able[:first]:
                self.try_pair(peer, address, server)

    def try_pair(self, peer, address, server):
        if peer.name in self.reasons:
            return
        small, large = tasks(self.scenario, peer, address, self.options.part)
        make = lambda: Pair(self.launch(peer, small, server), self.launch(peer, large, server),
                            small, large)
        try:
            calm = calmest(make, self.placement, 1000 * large.seconds * CALM_PART,
                           self.scenario.most_runs)
        except Unusable as error:
            self.reasons[peer.name] = str(error)
            return
        self.pairs.setdefault(peer.name, []).append(calm.result)
        self.stolen.append(calm.client + calm.server)

    def launch(self, peer, task, server):
        """Runs a task once. The floor's server does not count calls, so its run is not checked."""
        if not server:
            return launch(peer, task, self.placement.client)
        if task.stream:
            return self.launch_stream(peer, task)
        before = server.counts()
        finished = launch(peer, task, self.placement.client)
        self.check(peer, task, finished, since(before, server.counts()))
        return finished

    def launch_stream(self, peer, task):
        """Runs a task against a server of its own, because all streams of a server have the same length."""
        with serving(self.server_name, self.placement.server, *bare_settings(task)) as server:
            finished = launch(peer, replace(task, address=server.address(task.protocol)), self.placement.client)
        self.check(peer, task, finished, server.record)
        return finished

    def check(self, peer, task, finished, came):
        for each in departures(peer, task, finished.outcome, came):
            self.departures.setdefault(peer.name, []).append(each)

    def print(self):
        scenario = self.scenario
        print(f"## {scenario.name}: {scenario.title}, {self.server_name} server\n")
        rates = "messages/s" if scenario.large.stream else "calls/s"
        headings = ["", scenario.figure_title, rates, "mean latency, µs", "peak memory, MB",
                    "rpcgauge ÷ it", "wanted", "reached"]
        show(headings, [self.row(name) for name in self.names()], self.options.markdown)
        for line in left_out(self.reasons):
            print(f"- {line}")
        for name, found in self.departures.items():
            others = f" ({len(found) - 1} more such findings)" if len(found) > 1 else ""
            print(f"- warning: {name} did something else: it {found[0]}{others}")
        if any(self.stolen):
            print(f"- the host took {spread(self.stolen, 0)} ms of the two cores in a pair of runs")
        print(flush=True)

    def names(self):
        peers = [peer.name for peer in PEERS]
        floors = sorted(self.pairs.keys() - set(peers))
        return floors + [name for name in peers if name in self.pairs]

    def figures(self, name):
        return [self.scenario.figure(pair) for pair in self.pairs.get(name, [])]

    def rates(self, name):
        outcomes = [pair.large.outcome for pair in self.pairs.get(name, [])]
        return [outcome.messages_per_second or outcome.per_second for outcome in outcomes]

    def means(self, name):
        """Returns the mean latencies of calls. A stream is a single call."""
        if self.scenario.large.stream:
            return []
        return [pair.large.outcome.mean for pair in self.pairs.get(name, [])]

    def row(self, name):
        pairs, figures = self.pairs[name], self.figures(name)
        # The two figures in a ratio come from the same round.
        ratios = [ours / theirs for ours, theirs in zip(self.figures("rpcgauge"), figures)]
        wanted, reached = self.wanted(name, ratios)
        failed = sum(pair.large.outcome.failed for pair in pairs)
        shown = name if not failed else f"{name} ({failed} calls failed)"
        return [shown, spread(figures), spread(self.rates(name), 0),
                spread(self.means(name)), spread([p.large.peak_kib * 1024 / 1e6 for p in pairs], 1),
                spread(ratios) if name != "rpcgauge" else "", wanted, reached]

    def wanted(self, name, ratios):
        """Returns rpcgauge's goals compared with `name`, and whether it reaches them."""
        wanted, reached = [], []
        answer = lambda is_reached: reached.append("yes" if is_reached else "no")
        for each in self.scenario.wanted:
            if self.server_name not in each.servers or (each.times or "rpcgauge") != name:
                continue
            wanted.append(f"at most {each.most:g}")
            if self.figures("rpcgauge"):
                answer(median(ratios if each.times else self.figures(name)) <= each.most)
        if name == "rpcgauge" and self.scenario.least_per_second:
            wanted.append(f"{self.scenario.least_per_second:,}/s or more")
            answer(median(self.rates(name)) >= self.scenario.least_per_second)
        theirs, ours = ([mean for mean in self.means(who) if mean is not None]
                        for who in (name, "rpcgauge"))
        is_peer = name in (peer.name for peer in PEERS) and name != "rpcgauge"
        if self.scenario.wants_mean and theirs and is_peer:
            wanted.append("mean no higher")
            if ours:
                answer(median(ours) <= median(theirs))
        return "; ".join(wanted), "; ".join(reached)


def main():
    names = [scenario.name for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(
        prog="scripts/bench-peers",
        description="Runs rpcgauge and other load generators against the same servers, in turn.")
    parser.add_argument("--rounds", type=int, default=None, help="number of rounds (default: 5, or 1 with --quick)")
    parser.add_argument("--only", action="append", choices=names, help="run only this scenario; repeatable")
    parser.add_argument("--peer", action="append", choices=[peer.name for peer in PEERS],
                        help="run only this load generator; repeatable")
    parser.add_argument("--cores", help="the client's and the server's core, for example 0,1")
    parser.add_argument("--quick", action="store_true",
                        help="1/20 of the calls: checks that everything runs; the figures are meaningless")
    parser.add_argument("--seconds", type=float, default=SECONDS,
                        help=f"approximate length of a run, which scales the number of calls (default: {SECONDS})")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    parser.add_argument("--rpcgauge", metavar="PATH", help="use this program instead of target/release/rpcgauge")
    options = parser.parse_args()
    if options.seconds <= 0:
        parser.error("--seconds must be more than 0")
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.part = QUICK_PART if options.quick else options.seconds / SECONDS
    if options.peer:
        PEERS[:] = [peer for peer in PEERS if peer.name in options.peer]
    machine.use_rpcgauge(options.rpcgauge)
    machine.prepare()
    placement = machine.Placement(machine.cores(options.cores))
    print(f"{machine.description()}\n{placement}; {options.rounds} rounds in turn.")
    print("Figures are medians of the rounds, with their range. CPU is the user and system time of all "
          "of a client's processes.\nA short run before each run removes the cost of starting: the difference "
          "in CPU time is divided by the difference in calls.\n")
    for scenario in SCENARIOS:
        if options.only and scenario.name not in options.only:
            continue
        reason = machine.allow_connections(scenario.large.connections)
        if reason:
            print(f"## {scenario.name}: skipped: {reason}\n", flush=True)
            continue
        for server_name in scenario.servers:
            bench = Bench(scenario, server_name, placement, options)
            bench.run()
            bench.print()
