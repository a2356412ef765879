"""Runs a load generator, and reads from the kernel what it used."""

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import machine
from .task import Outcome, Unusable

# No run of these benchmarks takes nearly this long.
TIMEOUT_SECONDS = 300

# How often resident memory is read, if it is.
LOOK_EVERY_MS = 50


@dataclass
class Run:
    """A finished run. CPU is the user and system time of all its processes, in µs."""

    outcome: Outcome
    cpu: float
    peak_kib: int
    # The median while it ran; None unless the task asks for it.
    resident_kib: int | None


def launch(peer, task, core, realtime=False):
    """Runs `peer` on `core`; raises Unusable with the reason if there is no usable result."""
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
            raise Unusable(f"exit code {code}, {type(error).__name__}: {error}; its message: {said[:200]}")
    if outcome.answered == 0:
        raise Unusable(f"none of its calls was answered ({outcome.failed} failed)")
    return Run(outcome, used["user_us"] + used["system_us"], used["peak_kib"],
               used["resident_kib"])


def complaint(stderr):
    """The line with the error: the last one, or for a Go program the one above its stack trace."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fatal = (line for line in lines if line.startswith(("panic:", "fatal error:", "runtime:")))
    return next(fatal, lines[-1] if lines else "nothing")


def run(command, settle):
    """Returns its output, its messages and its exit code; the new process calls `settle` first."""
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
