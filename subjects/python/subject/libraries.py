"""Selects the library for the messages of a stack."""

import os
import sys

from subject.contract import Refused
from subject.messages import Messages
from subject.workloads import Workload

# Modules that a stack does not use are not imported, because they would add to its memory and start-up time.


def load(stack: str, encoding: str, workload: Workload) -> Messages:
    match stack, encoding:
        case (("fastapi" | "pydantic"), "json"):
            from subject.models import Models

            return Models(workload)
        case "orjson" | "msgpack", _:
            from subject import binary_dicts

            return binary_dicts.load(stack, workload)
        case "protobuf-python", _:
            return load_protobuf(workload, encoding, "python")
        case _, "json":
            from subject.dicts import Dicts

            return Dicts(workload)
    return load_protobuf(workload, encoding, "upb")


def load_protobuf(workload: Workload, encoding: str, implementation: str) -> Messages:
    choose_protobuf(implementation)
    from subject import protobufs

    return protobufs.load(workload, encoding)


def choose_protobuf(implementation: str) -> None:
    """Select protobuf with its C library (upb) or in pure Python (python)."""
    is_chosen = "subject.protobufs" in sys.modules
    # The package reads this once, when it is first imported.
    os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = implementation
    from subject import protobufs

    found = protobufs.IMPLEMENTATION
    if found != implementation and is_chosen:
        raise Refused("parts share protobuf in a process: on upb or in Python alone", "user")
    if found != implementation:
        raise Refused(f"protobuf is available as {found}, not as {implementation}", "machine")
