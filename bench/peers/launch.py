"""Runs a load generator and reads its resource usage from the kernel."""

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .task import Outcome, Unusable

# Far longer than any run of these benchmarks takes.
TIMEOUT_SECONDS = 300

# The interval at which resident memory is sampled, for tasks that request it.
LOOK_EVERY_MS = 50


@dataclass
class Run:
    """A finished run. `cpu` is the user and system time of all its processes, in µs."""

    outcome: Outcome
    cpu: float
    peak_kib: int
    # The median during the run; None unless the task requests it.
    resident_kib: int | None


def launch(peer, task, core, realtime=False):
    """Runs `peer` on `core`. Raises Unusable with the reason if there is no usable result."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        usage = scratch / "usage.json"
        looks = [f"resident={LOOK_EVERY_MS}"] if task.wants_resident else []
        command = [str(machine.SERVERS / "bench-measure"), str(usage), *looks, peer.program(),
                   *peer.command(task, scratch)]
        stdout, stderr, code = run(command, machine.on_core(core, realtime))
        try:
            outcome = peer.read(stdout, task)
            used = json.loads(usage.read_text())
        except (ValueError, KeyError, IndexError, TypeError, OSError, Unusable) as error:
            said = complaint(stderr)
            raise Unusable(f"exit code {code}, {type(error).__name__}: {error}; its error output: {said[:200]}")
    if outcome.answered == 0:
        raise Unusable(f"none of its calls succeeded ({outcome.failed} failed)")
    return Run(outcome, used["user_us"] + used["system_us"], used["peak_kib"],
               used["resident_kib"])


def complaint(stderr):
    """Returns the line with the error: the last one or, for a Go program, the one above the stack trace."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fatal = (line for line in lines if line.startswith(("panic:", "fatal error:", "runtime:")))
    return next(fatal, lines[-1] if lines else "nothing")


def run(command, settle):
    """Returns standard output, standard error and the exit code. The new process calls `settle` first."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=machine.ROOT,
                               start_new_session=True, preexec_fn=settle)
    try:
        stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Unusable(f"not finished after {TIMEOUT_SECONDS} s")
    return stdout, stderr, process.returncode
