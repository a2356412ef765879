"""Where the programs are and where they run; keeps the machine's cores awake."""

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
    """The path of a load generator: installed here, or by the system; None if it is missing."""
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
    """Builds the servers and installs the load generators."""
    servers = ROOT / "bench/servers"
    cargo = os.environ.get("CARGO", "cargo")
    run(cargo, "build", "--release", "--locked", "--quiet", "--target-dir", str(TARGET / "bench"),
        "--manifest-path", str(servers / "rust/Cargo.toml"))
    run("go", "build", "-trimpath", "-o", str(GO_SERVER), ".", cwd=servers / "go")
    run(str(ROOT / "bench/peers/install"))


# Open files of a client or a server besides its connections.
OTHER_FILES = 100


def allow_connections(count):
    """Raises the limit of connections for processes started from here. Returns the reason if it cannot."""
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
    return (f"{count:,} connections take {wanted:,} open files, but {hard:,} are allowed: "
            f"raise the hard limit (ulimit -Hn {wanted}, as root)")


def stolen_ms(core):
    """How long the host of a virtual machine gave a core to others since its start (proc(5), steal)."""
    fields = next(line.split() for line in open("/proc/stat") if line.startswith(f"cpu{core} "))
    return int(fields[8]) * 1000 / os.sysconf("SC_CLK_TCK")


def use_rpcgauge(path):
    """Uses another build of rpcgauge than target/release."""
    global RPCGAUGE
    if path and not os.access(path, os.X_OK):
        raise SystemExit(f"--rpcgauge {path}: there is no such program")
    RPCGAUGE = Path(path).resolve() if path else RPCGAUGE


class Placement:
    """The client's core, the server's core, and whether idle cores are kept awake."""

    def __init__(self, cores=None):
        allowed = sorted(os.sched_getaffinity(0))
        chosen = cores or allowed[:2]
        if len(chosen) != 2 or not set(chosen) <= set(allowed) or len(set(chosen)) != 2:
            raise SystemExit(f"needs two different cores of {allowed}; allow this program more "
                             "(taskset, the container's CPU set), or name two with --cores")
        self.client, self.server = chosen
        # The request for awake cores ends when the file is closed, with this process.
        self.hold, self.idle = hold_idle()

    def __str__(self):
        return f"client on core {self.client}, server on core {self.server}, idle states {self.idle}"


# The lowest real-time priority comes before every program without one.
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
    """Parses `0,1`; None stands for the first two allowed cores."""
    if not text:
        return None
    try:
        return [int(core) for core in text.split(",")]
    except ValueError:
        raise SystemExit(f"--cores {text}: write two numbers, as in 0,1") from None


def hold_idle():
    """Asks the kernel for a wake-up latency of 0 µs (Documentation/power/pm_qos_interface.rst)."""
    try:
        device = open("/dev/cpu_dma_latency", "wb", buffering=0)
        device.write(struct.pack("=i", 0))
    except OSError as error:
        return None, f"as they are ({error.strerror}): expect more noise"
    return device, "disabled"


# A host may limit how much CPU time a virtual machine's cores use in each period of 100 ms (cgroup v2,
# cpu.max). Two loops that never rest reach the limit: each core was observed to be stopped for half a
# millisecond in one period of ten. This rest is several times that. Only the server's core rests, since the
# server's record shows how long it takes to wake.
REST_SECONDS, REST_EVERY_SECONDS = 0.0004, 0.01

# Ends when the program that started it ends, for whatever reason.
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
    """Keeps either core awake with a loop: a virtual machine's core takes a tenth of a millisecond to wake.
    The client's loop never rests, and counts as work; the server's rests a little, and counts as idleness,
    so that the kernel prefers the server's core for other programs: the server's record shows them. Both
    loops give way to all other programs."""
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
    """For a process about to start: stays on this core; with `realtime`, comes before all other programs."""
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
