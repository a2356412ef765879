"""What a stack does with messages: how it holds them, and what it encodes and decodes them with."""

import os
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

from subject.contract import Refused
from subject.workloads import Workload

Sample = Literal["request", "response"]
Service = Callable[[Any], Any]

# What a stack does not use is not imported: it would be in its memory and its start.


class Coder(NamedTuple):
    """The two functions of a library that its users call, for one type of message."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


class Messages(Protocol):
    """A workload's messages, in one library and encoding."""

    versions: dict[str, str]
    # As the contract has it: the kind of code that encodes and decodes.
    code: str
    # What is raised for bytes that are no message, and for a request that has no answer.
    refusals: tuple[type[Exception], ...]

    def coder(self, sample: Sample) -> Coder: ...

    def from_json(self, sample: Sample, message: Any) -> Any:
        """A sample in proto3 JSON as the library has it."""

    def to_json(self, sample: Sample, message: Any) -> Any:
        """A message in proto3 JSON, for the lab to compare."""

    def service(self) -> Service:
        """Answers a request, or raises what it has against it."""


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
    """Takes protobuf on its C library (upb), or in Python alone (python)."""
    # The package reads this once, as it is first imported.
    os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = implementation
    from subject import protobufs

    found = protobufs.IMPLEMENTATION
    if found != implementation:
        raise Refused(f"protobuf is here as {found}, not as {implementation}", "machine")
