"""Runs made again while the host of a virtual machine keeps the cores for others (proc(5), steal)."""

from dataclasses import dataclass

from . import machine


@dataclass
class Calmest:
    """What a run gave, what the host took of the client's core and of the server's meanwhile, ms, and
    as the calmest of how many runs."""

    result: object
    client: float
    server: float
    runs: int


def calmest(make, placement, calm_ms, most_runs):
    """The first run from which the host took no more than `calm_ms` of both cores together, or the
    calmest of as many as there may be. What a run found does not decide."""
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
