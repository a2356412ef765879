"""Stacks `json`, `msgpack`, `protobuf` and `protobuf-python`: codecs alone."""

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from itertools import repeat
from time import monotonic_ns
from typing import Any

from subject import compression, plain, workloads
from subject.contract import CodecSettings, Json, Limits, Refused
from subject.slices import NOT_KNOWN, SUCCEEDED, Record, Tally, run_in_turn

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]


@dataclass
class Library:
    """A sample as a library has it, and the two functions that its users call."""

    message: Any
    encode: Encode
    decode: Decode
    to_json: Callable[[Any], Json]
    versions: dict[str, str]
    code: str = ""


def load(stack: str, settings: CodecSettings) -> Library:
    match stack:
        case "json":
            message = plain.from_json(settings.sample, settings.message)
            return Library(message, plain.encode_json, json.loads, dict, {})
        case "msgpack":
            import msgpack

            message = plain.from_json(settings.sample, settings.message)
            versions = {"msgpack": metadata.version("msgpack")}
            return Library(message, msgpack.packb, msgpack.unpackb, dict, versions)
        case "protobuf":
            return load_protobuf("upb", settings)
        case "protobuf-python":
            return load_protobuf("python", settings)
    raise AssertionError(stack)


def load_protobuf(implementation: str, settings: CodecSettings) -> Library:
    # The package reads this once, as it is first imported.
    os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = implementation
    from google.protobuf import json_format

    from subject import generated

    versions = generated.versions()
    found = versions["protobuf-implementation"]
    if found != implementation:
        raise Refused(f"protobuf is here as {found}, not as {implementation}", "machine")
    workload = workloads.find(settings.workload)
    message = generated.from_json(workload, settings.sample, settings.message)
    kind = type(message)
    to_json = json_format.MessageToDict
    return Library(message, kind.SerializeToString, kind.FromString, to_json, versions, "generated")


def compressing(library: Library, level: int, limits: Limits) -> tuple[Encode, Decode]:
    """A library's functions with gzip behind the one and before the other."""

    def encode(message: Any) -> bytes:
        return compression.compress(library.encode(message), level)

    def decode(data: bytes) -> Any:
        return library.decode(compression.decompress(data, limits))

    return encode, decode


class Codec:
    in_batches = True

    def __init__(self, library: Library, settings: CodecSettings) -> None:
        self.versions = library.versions
        self.code = library.code
        self.to_json = library.to_json
        self.encodes = settings.operation == "encode"
        encode, decode = library.encode, library.decode
        if level := compression.level(settings.compression):
            encode, decode = compressing(library, level, settings.limits)
        encoded = encode(library.message)
        if len(encoded) > settings.limits.max_message_bytes:
            raise Refused(f"the sample has {len(encoded)} bytes, more than the limit", "user")
        self.operation: Callable[[Any], Any] = encode if self.encodes else decode
        self.value = library.message if self.encodes else encoded

    def verify(self) -> Json:
        result = self.operation(self.value)
        if self.encodes:
            return {"bytes": base64.b64encode(result).decode()}
        return {"message": self.to_json(result)}

    def reopen(self) -> int:
        return 0

    def run(self, tally: Tally) -> None:
        run_in_turn(tally, lambda begin: self.batch(begin, tally.asked.batch))

    def batch(self, begin: int, operations: int) -> Record:
        operation, value = self.operation, self.value
        for _ in repeat(None, operations):
            operation(value)
        times = (begin, 0, 0, 0, 0, monotonic_ns(), 0, 0)
        return (*times, NOT_KNOWN, NOT_KNOWN, SUCCEEDED, operations)
