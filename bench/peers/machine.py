"""Where programs are installed and on which cores they run. Also keeps the machine's cores awake."""

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
STREAMS_PROTO = ROOT / "bench/peers/streams.proto"

SERVERS = TARGET / "bench/release"
GO_SERVER = TARGET / "bench/go-server"
PEERS = TARGET / "peers/bin"
RPCGAUGE = TARGET / "release/rpcgauge"


def program(name):
    """Returns the path of a load generator, installed here or by the system, or None if it is missing."""
    own = PEERS / name
    return str(own) if own.exists() else shutil.which(name)


def run(*command, cwd=ROOT):
    """Runs a command and exits if it fails."""
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


# Open files that a client or server needs besides its connections.
OTHER_FILES = 100


def allow_connections(count):
    """Raises the open-file limit for processes started from here. Returns the reason if that fails."""
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
    return (f"{count:,} connections need {wanted:,} open files, but only {hard:,} are allowed: "
            f"raise the hard limit (ulimit -Hn {wanted}, as root)")


def stolen_ms(core):
    """Returns how long the host of a virtual machine has given a core to others since boot (proc(5), steal)."""
    fields = next(line.split() for line in open("/proc/stat") if line.startswith(f"cpu{core} "))
    return int(fields[8]) * 1000 / os.sysconf("SC_CLK_TCK")


def use_rpcgauge(path):
    """Uses a different build of rpcgauge than target/release."""
    global RPCGAUGE
    if path and not os.access(path, os.X_OK):
        raise SystemExit(f"--rpcgauge {path}: no such program")
    RPCGAUGE = Path(path).resolve() if path else RPCGAUGE


class Placement:
    """The client's core, the server's core, and whether idle cores are kept awake."""

    def __init__(self, cores=None):
        allowed = sorted(os.sched_getaffinity(0))
        chosen = cores or allowed[:2]
        if len(chosen) != 2 or not set(chosen) <= set(allowed) or len(set(chosen)) != 2:
            raise SystemExit(f"two different cores of {allowed} are required; allow this program to use more cores "
                             "(taskset, the container's CPU set), or select two with --cores")
        self.client, self.server = chosen
        # The kernel keeps the cores awake until the file is closed when this process exits.
        self.hold, self.idle = hold_idle()

    def __str__(self):
        return f"client on core {self.client}, server on core {self.server}, idle states {self.idle}"


# Even the lowest real-time priority takes precedence over all programs without one.
REALTIME = os.SCHED_FIFO, os.sched_param(1)


def why_not_realtime():
    """Returns why programs cannot be started with real-time priority here, or None if they can."""
    try:
        os.sched_setscheduler(0, *REALTIME)
    except OSError as error:
        return error.strerror
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return None


def cores(text):
    """Parses `0,1`. None means the first two allowed cores."""
    if not text:
        return None
    try:
        return [int(core) for core in text.split(",")]
    except ValueError:
        raise SystemExit(f"--cores {text}: write two numbers, as in 0,1") from None


def hold_idle():
    """Requests a wake-up latency of 0 µs from the kernel (Documentation/power/pm_qos_interface.rst)."""
    try:
        device = open("/dev/cpu_dma_latency", "wb", buffering=0)
        device.write(struct.pack("=i", 0))
    except OSError as error:
        return None, f"as they are ({error.strerror}): expect more noise"
    return device, "disabled"


# A host may limit how much CPU time a virtual machine's cores use in each period of 100 ms (cgroup v2,
# cpu.max). Two loops that never rest hit the limit: each core was observed to stop for half a millisecond in
# one out of ten periods. These rests add up to several times as much. Only the server's core rests, because
# the server's record shows how long the core takes to wake.
REST_SECONDS, REST_EVERY_SECONDS = 0.0004, 0.01

# Exits when the program that started it exits, for whatever reason.
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
    """Keeps both cores awake with one loop each, because a virtual machine's core takes 0.1 ms to wake up. The
    client's loop never rests, and the kernel treats it as work. The server's loop rests briefly, and the
    kernel treats it as idle time. The kernel therefore places other programs on the server's core, where the
    server's record reveals them. Both loops yield to all other programs."""
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
    """Returns a function for a new process to call first. It pins the process to this core and, with `realtime`,
    gives it precedence over all other programs."""
    def settle():
        os.sched_setaffinity(0, {core})
        if realtime:
            os.sched_setscheduler(0, *REALTIME)
    return settle


def description():
    """Describes the machine in one line."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), platform.machine())
    return (f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, "
            f"load average {os.getloadavg()[0]:.2f}")
