"""Whether a load generator did what it was asked to, as the server saw it."""


def departures(peer, task, outcome, came):
    """What it did otherwise: one clause for each. `came` has the server's counts of this run."""
    found = []
    calls = came["calls"] - peer.probe_calls
    # What is in flight when the time is up is seen by the server alone.
    unsaid = 0 if peer.counts_calls else task.in_flight
    if not 0 <= calls - outcome.calls <= unsaid:
        found.append(f"told of {outcome.calls:,} calls, of which {calls:,} came")
    if peer.counts_calls and outcome.calls != task.calls:
        found.append(f"made {outcome.calls:,} calls and not {task.calls:,}")
    wanted = peer.connections(task)
    connections = came["connections"] - peer.probe_connections
    if wanted is not None and connections != wanted:
        found.append(f"opened {connections:,} connections and not {wanted:,}")
    return found


def since(before, after):
    """Counts of what came between two looks at the server."""
    return {name: after[name] - before[name] for name in ("calls", "connections")}
