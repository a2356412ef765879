"""One run of a load generator, and what the kernel says that it took."""

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .task import Outcome, Unusable

# No run of these benchmarks takes nearly as long.
TIMEOUT_SECONDS = 300

# How often resident memory is looked at, where it is.
LOOK_EVERY_MS = 50


@dataclass
class Run:
    """A finished run. CPU is user and system time of all its processes, in µs."""

    outcome: Outcome
    cpu: float
    peak_kib: int
    # What it held while it continued, at the median; None unless the task wants it known.
    resident_kib: int | None


def launch(peer, task, core, realtime=False):
    """Runs `peer` on `core`; raises Unusable with the reason where that gives nothing."""
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
            raise Unusable(f"exit code {code}, {type(error).__name__}: {error}; it said: {said[:200]}")
    if outcome.answered == 0:
        raise Unusable(f"none of its calls was answered ({outcome.failed} failed)")
    return Run(outcome, used["user_us"] + used["system_us"], used["peak_kib"],
               used["resident_kib"])


def complaint(stderr):
    """The line that says what was wrong: the last one, but for a Go program's, above its stack."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fatal = (line for line in lines if line.startswith(("panic:", "fatal error:", "runtime:")))
    return next(fatal, lines[-1] if lines else "nothing")


def run(command, settle):
    """Its output, its messages and its exit code; `settle` is done first in the new process."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, cwd=machine.ROOT,
                               start_new_session=True, preexec_fn=settle)
    try:
        stdout, stderr = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Unusable(f"not done after {TIMEOUT_SECONDS} s")
    return stdout, stderr, process.returncode
