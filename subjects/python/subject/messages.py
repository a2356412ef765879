"""The interface to messages: how a stack represents them, and how it encodes and decodes them."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Protocol

Sample = Literal["request", "response"]
Service = Callable[[Any], Any]
# A service with several responses to a request.
Listing = Callable[[Any], Iterable[Any]]


class Coder(NamedTuple):
    """The two functions that a library's users call for one type of message."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


class Messages(Protocol):
    """A workload's messages, in one library and encoding."""

    versions: dict[str, str]
    # The kind of code that encodes and decodes, as defined in the contract.
    code: str
    # The exceptions for bytes that are not a message, and for a request that cannot be answered.
    refusals: tuple[type[Exception], ...]

    def coder(self, sample: Sample) -> Coder: ...

    def from_json(self, sample: Sample, message: Any) -> Any:
        """Convert a sample in proto3 JSON to the library's message."""

    def to_json(self, sample: Sample, message: Any) -> Any:
        """Convert a message to proto3 JSON, for the lab to compare."""

    def service(self) -> Service:
        """Return a function that responds to a request, or raises one of the refusals."""
