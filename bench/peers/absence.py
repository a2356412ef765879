"""How long a core is away from a program that never rests.

The host of a virtual machine gives its cores to others too, and does not always tell (steal). What
comes meanwhile is read late, whoever reads it.
"""

import os
from multiprocessing import Pipe, Process
from time import perf_counter_ns

# Looking at the clock twice takes less, ns.
LEAST_GAP = 20_000


def absence(placement, seconds, percentiles):
    """How long what comes at any moment waits for the client's core to be back, µs, by percentile.

    The server's core is busy too: hosts that are short of cores take them from those who use all
    of theirs.
    """
    ends = [Pipe(duplex=False) for _ in range(2)]
    processes = [Process(target=look, args=(core, seconds, end))
                 for core, (_, end) in zip((placement.client, placement.server), ends)]
    for process, (_, end) in zip(processes, ends):
        process.start()
        end.close()  # so that a process that ends early is seen, and not waited for
    gaps, _ = [end.recv() for end, _ in ends]
    for process in processes:
        process.join()
    return {p: wait(gaps, p / 100, seconds * 1e9) / 1e3 for p in percentiles}


def look(core, seconds, result):
    """Looks at the clock without pause, and sends the gaps between two looks, ns."""
    os.sched_setaffinity(0, {core})
    gaps, last = [], perf_counter_ns()
    end = last + seconds * 1e9
    while last < end:
        now = perf_counter_ns()
        if now - last > LEAST_GAP:
            gaps.append(now - last)
        last = now
    result.send(gaps)


def wait(gaps, part, whole):
    """The wait that so large a part of all moments does not exceed: a moment waits for the rest of
    the gap it lies in, if it lies in one."""
    beyond, longer = (1 - part) * whole, 0
    gaps = sorted(gaps, reverse=True)
    for number, gap in enumerate(gaps, start=1):
        longer += gap
        next_gap = gaps[number] if number < len(gaps) else 0
        # Moments that wait longer than x are those of all longer gaps, less x of each.
        x = (longer - beyond) / number
        if x >= next_gap:
            return max(0, x)
    return 0
