"""Where the programs are, where they run, and what keeps the machine awake."""

import os
import platform
import resource
import shutil
import struct
import subprocess
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
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


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
    return device, "held off"


def on_core(core):
    """For a process about to start: stay on this core."""
    return lambda: os.sched_setaffinity(0, {core})


def description():
    """One line about the machine."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), platform.machine())
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}"
