"""Repeats runs during which the host of a virtual machine gave the cores to others (proc(5), steal)."""

from dataclasses import dataclass

from . import machine


@dataclass
class Calmest:
    """The calmest of `runs` runs: its result, and how long the host took the client's and the server's core away
    during the run, in ms."""

    result: object
    client: float
    server: float
    runs: int


def calmest(make, placement, calm_ms, most_runs):
    """Returns the first run in which the host took the two cores away for at most `calm_ms` in total. If there is
    none, returns the calmest of `most_runs` runs. The choice does not depend on the result."""
    cores = (placement.client, placement.server)
    best = None
    for number in range(1, most_runs + 1):
        before = [machine.stolen_ms(core) for core in cores]
        result = make()
        client, server = (machine.stolen_ms(core) - was for core, was in zip(cores, before))
        if best is None or client + server < best.client + best.server:
            best = Calmest(result, client, server, number)
        best.runs = number
        if client + server <= calm_ms:
            break
    return best
