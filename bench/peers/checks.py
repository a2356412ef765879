"""Checks a load generator against the server's counts: did it perform its task?"""


def departures(peer, task, outcome, came):
    """Returns how it deviated from its task, as clauses. `came` contains the server's counts for this run."""
    found = []
    calls = came["calls"] - peer.probe_calls
    # Calls that are still in flight when the time is up are counted only by the server.
    unsaid = 0 if peer.counts_calls else task.in_flight
    if not 0 <= calls - outcome.calls <= unsaid:
        found.append(f"reported {outcome.calls:,} calls, but the server received {calls:,}")
    if peer.counts_calls and outcome.calls != task.calls:
        found.append(f"issued {outcome.calls:,} calls instead of {task.calls:,}")
    if outcome.messages != task.messages:
        found.append(f"received {outcome.messages:,} messages instead of {task.messages:,}")
    # The check of a server's stream ends after its first message, but the server may have sent more.
    sent = came.get("messages", 0) - outcome.messages
    probed = peer.probe_calls if task.stream else 0
    if sent != probed and not (task.stream and task.stream.form == "server" and sent > probed > 0):
        found.append(f"received {outcome.messages:,} messages, but the server sent {sent + outcome.messages:,}")
    wanted = peer.connections(task)
    connections = came["connections"] - peer.probe_connections
    if wanted is not None and connections != wanted:
        found.append(f"opened {connections:,} connections instead of {wanted:,}")
    return found


def since(before, after):
    """Returns the server's counts between two readings."""
    return {name: after[name] - before[name] for name in ("calls", "connections", "messages") if name in after}
