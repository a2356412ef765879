"""Checks from the server's counts whether a load generator did what it was asked to do."""


def departures(peer, task, outcome, came):
    """How it deviated from its task, one clause each. `came` has the server's counts of this run."""
    found = []
    calls = came["calls"] - peer.probe_calls
    # Only the server counts calls that are in flight when the time is up.
    unsaid = 0 if peer.counts_calls else task.in_flight
    if not 0 <= calls - outcome.calls <= unsaid:
        found.append(f"reported {outcome.calls:,} calls, but the server received {calls:,}")
    if peer.counts_calls and outcome.calls != task.calls:
        found.append(f"made {outcome.calls:,} calls, not {task.calls:,}")
    wanted = peer.connections(task)
    connections = came["connections"] - peer.probe_connections
    if wanted is not None and connections != wanted:
        found.append(f"opened {connections:,} connections, not {wanted:,}")
    return found


def since(before, after):
    """The server's counts between two readings."""
    return {name: after[name] - before[name] for name in ("calls", "connections")}
