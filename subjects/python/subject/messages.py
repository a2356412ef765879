"""What a stack does with messages: how it holds them, and what it encodes and decodes them with."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

Sample = Literal["request", "response"]
Service = Callable[[Any], Any]


class Coder(NamedTuple):
    """The two functions of a library that its users call, for one type of message."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


class Messages(Protocol):
    """A workload's messages, in one library and encoding."""

    versions: dict[str, str]
    # As the contract has it: the kind of code that encodes and decodes.
    code: str
    # What is raised for bytes that are not a message, and for a request that has no answer.
    refusals: tuple[type[Exception], ...]

    def coder(self, sample: Sample) -> Coder: ...

    def from_json(self, sample: Sample, message: Any) -> Any:
        """A sample in proto3 JSON as the library has it."""

    def to_json(self, sample: Sample, message: Any) -> Any:
        """A message in proto3 JSON, for the lab to compare."""

    def service(self) -> Service:
        """Answers a request, or raises what it has against it."""
