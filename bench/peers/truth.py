"""`make bench-truth`: what load generators report about servers with known latencies."""

import argparse
from contextlib import nullcontext
from dataclasses import dataclass, replace

from . import machine
from .adapters import PEERS
from .calm import calmest
from .checks import departures
from .known import (LATENCY, PERCENTILES, Delaying, Echoing, Producing, Stalling, StallingEcho, bimodal, constant,
                    uniform)
from .launch import launch
from .servers import serving
from .table import left_out, show
from .task import Stream, Task, Unusable

SECONDS = 20
QUICK_SECONDS = 2

# The maximum error: a fraction of the truth or a number of µs, whichever is larger.
MAX_ERROR = 0.02
MAX_ERROR_US = 100
# The maximum error of a rate, as a fraction.
MAX_RATE_ERROR = 0.001


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


def streams(form, calls, messages=1, rate=None, message_rate=None):
    """Returns a load of this many calls in flight or, at a rate, at most."""
    return Task("grpc", "", 1, calls, calls, rate, stream=Stream(form, messages, message_rate))


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
    *(Scenario(f"{kind}{suffix}", f"each response delayed, {shape.text}; 1,000 calls/s, {title}",
               Delaying(shape), load)
      for kind, shape in [("constant", constant(10)), ("uniform", uniform(5, 25)), ("bimodal", bimodal(5, 50, 0.2))]
      for suffix, title, load in [("", "HTTP/1.1", http1(1_000, 200)),
                                  ("-grpc", "gRPC", grpc(1_000, 400))]),
    # Up to 1,000 messages per second in total. The rates of calls are such that the messages of different calls do not
    # come at the same moments.
    *(Scenario(f"stream-{kind}", f"streams of 20 messages, the first after {first.text}, gaps {gap.text}; 48 calls/s",
               Producing(first, gap), streams("server", 100, messages=20, rate=48))
      for kind, first, gap in [("constant", constant(10), constant(10)),
                               ("uniform", uniform(5, 25), uniform(5, 15)),
                               ("stall", constant(10), bimodal(5, 100, 0.02))]),
    Scenario("echo-constant", "each of 100 messages at 100/s answered after 10 ms; 9 calls/s",
             Echoing(10), streams("bidirectional", 40, messages=100, rate=9, message_rate=100)),
    Scenario("echo-stall-1000", "one bidirectional stream, stalled 100 ms in every second; 1,000 messages/s",
             StallingEcho(), streams("bidirectional", 1, message_rate=1_000)),
    Scenario("echo-stall-20000", "the same at 20,000 messages/s",
             StallingEcho(), streams("bidirectional", 1, message_rate=20_000)),
    Scenario("echo-serial-1000", "and one message at a time, each taking 0.2 ms; 1,000 messages/s",
             StallingEcho(Stalling(service=200)), streams("bidirectional", 1, message_rate=1_000)),
]


def headings(load):
    arrivals = "messages" if load.stream and load.stream.rate else "calls"
    received, times = (["received/s"], "times") if load.stream else ([], "latencies")
    return ["", *(f"{name}, ms" for name in ("p50", "p95", "p99", "p99.9", "max")), f"{arrivals}/s", *received,
            "failed", "sent late, p99 and max, ms", f"{times} true", "rate held"]


def run(scenario, placement, seconds, markdown):
    """Runs every load generator that is able to, each against a new server, and prints the table."""
    load = scenario.load.lasting(seconds)
    known = scenario.server.known(load)
    rows = [truth_row(each, scenario, load, is_first=each is known[0]) for each in known]
    notes, reasons = [], {}
    for peer in PEERS:
        reason = why_not(peer, load, known)
        if not reason:
            try:
                outcome, record, warnings = call(peer, scenario, load, placement, seconds)
            except Unusable as error:
                reason = str(error)
        if reason:
            reasons[peer.name] = reason
            continue
        rows += peer_rows(peer, outcome, record, scenario, load, known)
        notes.append(f"the server, called by {peer.name}: {told(record)}")
        notes += [f"warning: {peer.name} {warning}" for warning in warnings]
    print(f"## {scenario.name}: {scenario.title}\n")
    show(headings(load), rows, markdown)
    for note in notes + left_out(reasons):
        print(f"- {note}")
    print(flush=True)


# Time that the host takes from the client's core affects every figure and is nobody's fault. It is reported from
# this length on, in ms.
STOLEN_MS = 1

# A run is calm if the host took at most this fraction of the two cores' time.
CALM_PART = 1 / 500

# Up to this many calls or messages per second, client and server take precedence over all other programs, because
# a program that needs the core for a few milliseconds per second would affect p99. Above this rate, some load
# generators never rest, and the kernel would stop them for 50 ms per second (sched(7), RT throttling).
REALTIME_RATE = 1_000


def why_not(peer, load, known):
    reason = peer.why_not(load)
    if not reason and not any(each.name in peer.times for each in known):
        return "reports none of these times"
    return reason


def call(peer, scenario, load, placement, seconds):
    """Returns the load generator's report, the server's record, and warnings about both."""
    calm_ms = CALM_PART * 2 * 1000 * seconds
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
    name, *settings = scenario.server.settings(load)
    settings.append(f"unrecorded={peer.probe_calls}")
    realtime = round(load.per_second) <= REALTIME_RATE and not machine.why_not_realtime()
    with (machine.awake(placement) if realtime else nullcontext(),
          serving(name, placement.server, *settings, realtime=realtime) as server):
        task = replace(load, address=server.address(load.protocol))
        outcome = launch(peer, task, placement.client, realtime).outcome
    warnings = [f"did something else: it {each}"
                for each in departures(peer, task, outcome, server.record)]
    return outcome, server.record, warnings


def truth_row(known, scenario, load, is_first):
    """Returns a row of true percentiles; the first row also has the rates."""
    rates = [f"{load.arrivals_per_second:,.0f}"]
    if load.stream:
        received = scenario.server.received_per_second(load, earlier_calls=0)
        rates.append(f"{received:,.0f}" if received else "")
    cells = [label_of("truth", known, load), *(milliseconds(known.percentiles[p]) for p in PERCENTILES),
             *(rates if is_first else [""] * len(rates))]
    return cells + [""] * (len(headings(load)) - len(cells))


def label_of(name, known, load):
    """Returns a row's label. A unary call has only one kind of time."""
    return f"{name}, {known.name}" if load.stream else name


def peer_rows(peer, outcome, record, scenario, load, known):
    """Returns a row for each kind of time that a load generator reports. The first row also has what concerns the
    whole run. For rpcgauge, the server's record of one kind of time follows its row."""
    rows, of_run = [], run_cells(peer, outcome, record, scenario, load)
    for each in known:
        if each.name not in peer.times:
            continue
        said = outcome.percentiles if each.name == LATENCY else outcome.message_times.get(each.name, {})
        cells = ["–" if p not in said else f"{milliseconds(said[p])} ({error(said[p], each.percentiles[p])})"
                 for p in PERCENTILES]
        held_to = {p: time for p, time in said.items() if p in each.held_to}
        is_recorded = each.name == scenario.server.recorded
        verdict = judge(held_to, record if is_recorded else None, each.percentiles)
        *left, is_held = of_run if not rows else [""] * len(of_run)
        rows.append([label_of(peer.name, each, load), *cells, *left, verdict, is_held])
        if peer.name == "rpcgauge" and is_recorded:
            rows.append(server_row(record, load))
    return rows


def run_cells(peer, outcome, record, scenario, load):
    """Returns the rates, the failed calls, how late calls were sent, and whether the rates are held."""
    late = [outcome.send_delay.get(percentile) for percentile in (99, 100)]
    # Uses the server's clock, because load generators differ in what they report as their rate.
    came = record["arrived_per_second"]
    is_held = came is not None and is_at_rate(came, load.arrivals_per_second)
    received = []
    if load.stream:
        # It depends on the lengths of the last streams, and thus on how many calls came before.
        truth = scenario.server.received_per_second(load, peer.probe_calls)
        said = outcome.messages_per_second
        received = [f"{said:,.1f}" + (f" ({error(said, truth)})" if truth else "")]
        is_held = is_held and (not truth or is_at_rate(said, truth))
    return [f"{came:,.1f}" if came is not None else "–", *received, f"{outcome.failed:,}",
            ", ".join(milliseconds(each) for each in late if each is not None) or "not reported",
            "yes" if is_held else "no"]


def is_at_rate(rate, truth):
    return abs(rate / truth - 1) <= MAX_RATE_ERROR


def server_row(record, load):
    """Returns the server's record of the times in the row above."""
    served = of_server(record["delay_ns"])
    cells = ["– the server's record", *(milliseconds(served[p]) if p in served else "–" for p in PERCENTILES)]
    columns = headings(load)
    cells += [f"{record['refused']:,}" if heading == "failed" else "" for heading in columns[len(cells):]]
    return cells


def judge(said, record, truth):
    """Judges whether every reported percentile is true. If one is not, it may still be what was served: the server
    was late if calls arrived as calculated and were answered as reported. Some times are not in its record."""
    if not said:
        return "none reported"
    if all(is_near(value, truth[p]) for p, value in said.items()):
        return "yes"
    if not record:
        return "no"
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
