"""Additional processes of a server that accept from its socket, like uvicorn's own workers."""

import json
import subprocess
import sys
from dataclasses import asdict
from socket import socket

from subject.contract import CONTRACT, Json, Refused, ServerSettings


def inherited() -> socket | None:
    """Return the inherited socket if this process is a worker."""
    return socket(fileno=int(sys.argv[2])) if len(sys.argv) > 2 else None


class Workers:
    """Each worker runs this program again. It exits when its input is closed, and therefore also with this process."""

    def __init__(self, settings: ServerSettings, bound: socket) -> None:
        number = bound.fileno()
        command = [sys.executable, "-m", "subject", sys.argv[1], str(number)]
        self.processes = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[number]
            )
            for _ in range(settings.threads - 1)
        ]
        line = json.dumps(settings_of_one(settings)).encode() + b"\n"
        for process in self.processes:
            assert process.stdin
            process.stdin.write(line)
            process.stdin.flush()

    def wait_until_ready(self) -> None:
        for process in self.processes:
            assert process.stdout
            reply = json.loads(process.stdout.readline() or "{}")
            if not reply.get("ready"):
                raise Refused(reply.get("error", "a worker exited before it was ready"), "subject")

    def end(self) -> None:
        for process in self.processes:
            process.communicate()


def settings_of_one(settings: ServerSettings) -> Json:
    keys = {**asdict(settings), "contract": CONTRACT, "role": "server", "threads": 1}
    keys["limits"] = present(keys["limits"])
    return present(keys)


def present(keys: Json) -> Json:
    return {name: value for name, value in keys.items() if value is not None}
