"""The servers in bench/servers, each in its own process on the server's core."""

import json
import subprocess
from contextlib import contextmanager

from . import machine

COMMANDS = {
    "go": [str(machine.GO_SERVER)],
    "bare": [str(machine.SERVERS / "bench-server"), "bare"],
    "stall": [str(machine.SERVERS / "bench-server"), "stall"],
    "delay": [str(machine.SERVERS / "bench-server"), "delay"],
    "floor": [str(machine.SERVERS / "bench-floor"), "answer"],
}


class Server:
    """A running server: its addresses and, after it exits, the record that it wrote (None if it wrote none)."""

    def __init__(self, process, addresses):
        self.process = process
        self.addresses = addresses
        self.record = None

    def address(self, protocol):
        return self.addresses["grpc" if protocol == "grpc" else "http"]

    def counts(self):
        """Returns the server's counts so far: `calls`, `connections` and others."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@contextmanager
def serving(name, core, *settings, realtime=False):
    """Starts a server, and stops it by closing its standard input."""
    process = subprocess.Popen([*COMMANDS[name], *settings], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True,
                               preexec_fn=machine.on_core(core, realtime))
    try:
        ready = process.stdout.readline()
        if not ready:
            raise SystemExit(f"the {name} server did not start; see its error output above")
        server = Server(process, json.loads(ready))
        yield server
        process.stdin.close()
        last = process.stdout.readline()
        server.record = json.loads(last) if last else None
    finally:
        process.kill()
        process.wait()
