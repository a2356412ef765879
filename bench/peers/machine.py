"""Where the programs are, where they run, and what keeps the machine awake."""

import os
import platform
import resource
import shutil
import struct
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
PROTO = ROOT / "contract/proto/hello.proto"

SERVERS = TARGET / "bench/release"
GO_SERVER = TARGET / "bench/go-server"
PEERS = TARGET / "peers/bin"
RPCGAUGE = TARGET / "release/rpcgauge"


def program(name):
    """The path of a peer: the one installed here, or the system's; None without it."""
    own = PEERS / name
    return str(own) if own.exists() else shutil.which(name)


def run(*command, cwd=ROOT):
    """Runs a command that must succeed."""
    try:
        subprocess.run(command, cwd=cwd, check=True)
    except FileNotFoundError:
        raise SystemExit(f"{command[0]} is missing: the benchmarks need cargo and Go") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{command[0]} failed with exit code {error.returncode}") from None


def prepare():
    """Builds the servers, installs the peers, and allows as many open files as there may be."""
    servers = ROOT / "bench/servers"
    cargo = os.environ.get("CARGO", "cargo")
    run(cargo, "build", "--release", "--locked", "--quiet", "--target-dir", str(TARGET / "bench"),
        "--manifest-path", str(servers / "rust/Cargo.toml"))
    run("go", "build", "-trimpath", "-o", str(GO_SERVER), ".", cwd=servers / "go")
    run(str(ROOT / "bench/peers/install"))


# Open files of a client or a server beside its connections.
OTHER_FILES = 100


def allow_connections(count):
    """Raises the limit of connections for processes started from here. Returns why it cannot; None if it can."""
    wanted = count + OTHER_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        # Only root may raise the hard limit.
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, hard), max(wanted, hard)))
        return None
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard >= wanted:
        return None
    return (f"{count:,} connections take {wanted:,} open files, and {hard:,} are allowed: "
            f"raise the hard limit (ulimit -Hn {wanted}, as root)")


def stolen_ms(core):
    """How long the host of a virtual machine kept a core for others since its start (proc(5), steal)."""
    fields = next(line.split() for line in open("/proc/stat") if line.startswith(f"cpu{core} "))
    return int(fields[8]) * 1000 / os.sysconf("SC_CLK_TCK")


def use_rpcgauge(path):
    """Takes another build of rpcgauge than target/release."""
    global RPCGAUGE
    if path and not os.access(path, os.X_OK):
        raise SystemExit(f"--rpcgauge {path}: there is no such program")
    RPCGAUGE = Path(path).resolve() if path else RPCGAUGE


class Placement:
    """The client's core, the server's, and whether idle cores are kept awake."""

    def __init__(self, cores=None):
        allowed = sorted(os.sched_getaffinity(0))
        chosen = cores or allowed[:2]
        if len(chosen) != 2 or not set(chosen) <= set(allowed) or len(set(chosen)) != 2:
            raise SystemExit(f"two different cores of {allowed} are needed; allow this program more "
                             "(taskset, the container's CPU set), or name two with --cores")
        self.client, self.server = chosen
        # The request ends when the file is closed, with this process.
        self.hold, self.idle = hold_idle()

    def __str__(self):
        return f"client on core {self.client}, server on core {self.server}, idle states {self.idle}"


# The lowest real-time priority is before every program that has none.
REALTIME = os.SCHED_FIFO, os.sched_param(1)


def why_not_realtime():
    """Why programs cannot be started with real-time priority here; None if they can."""
    try:
        os.sched_setscheduler(0, *REALTIME)
    except OSError as error:
        return error.strerror
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return None


def cores(text):
    """Reads `0,1`; None for the first two that are allowed."""
    if not text:
        return None
    try:
        return [int(core) for core in text.split(",")]
    except ValueError:
        raise SystemExit(f"--cores {text}: two numbers are wanted, as 0,1") from None


def hold_idle():
    """Asks the kernel for a wake-up latency of 0 µs (Documentation/power/pm_qos_interface.rst)."""
    try:
        device = open("/dev/cpu_dma_latency", "wb", buffering=0)
        device.write(struct.pack("=i", 0))
    except OSError as error:
        return None, f"as they are ({error.strerror}): expect more noise"
    return device, "disabled"


# A host may limit what a virtual machine's cores use in each period of 100 ms (cgroup v2, cpu.max).
# Two loops that never rest reach the limit, and each core was seen to be stopped for half a
# millisecond in one period of ten. This rest is several times what was lacking. It is the server's
# core alone that rests, whose record shows what it takes to wake.
REST_SECONDS, REST_EVERY_SECONDS = 0.0004, 0.01

# Ends with the program that started it, however that ends.
LOOP = """
import os, sys, time
rest, every = map(float, sys.argv[1:])
parent = os.getppid()
while os.getppid() == parent:
    end = time.monotonic() + every - rest
    while time.monotonic() < end: pass
    if rest: time.sleep(rest)
"""


@contextmanager
def awake(placement):
    """A loop on either core that keeps it awake: a virtual machine's takes a tenth of a millisecond to
    wake. The client's never rests, and counts as work; the server's rests a little, and counts as
    idleness, so that the kernel has other programs run on the server's core, whose record shows it.
    Both give way to all others."""
    def work():
        on_core(placement.client)()
        os.nice(19)

    def idleness():
        on_core(placement.server)()
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    loops = [subprocess.Popen([sys.executable, "-c", LOOP, str(rest), str(REST_EVERY_SECONDS)],
                              preexec_fn=settle)
             for settle, rest in ((work, 0), (idleness, REST_SECONDS))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def on_core(core, realtime=False):
    """For a process about to start: stay on this core, if `realtime` before all other programs."""
    def settle():
        os.sched_setaffinity(0, {core})
        if realtime:
            os.sched_setscheduler(0, *REALTIME)
    return settle


def description():
    """One line about the machine."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), platform.machine())
    return (f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, "
            f"load average {os.getloadavg()[0]:.2f}")
