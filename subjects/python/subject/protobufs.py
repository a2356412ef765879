"""Messages of the classes that protoc generated, in protobuf and in proto3 JSON."""

import importlib
import json
from contextlib import suppress
from importlib import metadata
from typing import Any

from generated.methods import MODULES
from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, Message

from subject import service
from subject.contract import Refused
from subject.dicts import Dicts, to_text
from subject.messages import Coder, Sample, Service
from subject.methods import Generic, Method
from subject.workloads import Workload

IMPLEMENTATION = api_implementation.Type()


def versions(*packages: str) -> dict[str, str]:
    """The installed versions of packages, and which of its implementations protobuf uses."""
    found = {package: metadata.version(package) for package in ("protobuf", *packages)}
    return {**found, "protobuf-implementation": IMPLEMENTATION}


class Protobufs:
    code = "generated"
    refusals: tuple[type[Exception], ...] = (ValueError, DecodeError, json_format.ParseError)

    def __init__(self, workload: Workload, encoding: str) -> None:
        self.versions = versions()
        self.workload = workload
        self.encoding = encoding
        self.method = Method.of(workload)
        # The service's module brings those of its messages, except for what an Any may hold.
        for module in MODULES if workload.is_own else [self.method.module]:
            importlib.import_module(module)

    def named(self, name: str) -> Any:
        """A class, by the full name of its message."""
        described = descriptor_pool.Default().FindMessageTypeByName(name)
        return message_factory.GetMessageClass(described)

    def kind(self, sample: Sample) -> Any:
        return self.named(getattr(self.method, sample))

    def coder(self, sample: Sample) -> Coder:
        kind = self.kind(sample)
        if self.encoding == "protobuf":
            return Coder(kind.SerializeToString, kind.FromString)
        return Coder(
            lambda message: json_format.MessageToJson(message, indent=None).encode(),
            lambda data: json_format.Parse(data, kind()),
        )

    def from_json(self, sample: Sample, message: Any) -> Message:
        kind = self.kind(sample)
        if not self.workload.is_own:
            # Many times faster for a long list. It takes only some of the mapping's forms.
            with suppress(TypeError, ValueError):
                return kind(**message)
        try:
            return json_format.ParseDict(message, kind())
        except json_format.ParseError as error:
            raise Refused(f"the {sample} is not a {kind.__name__}: {error}", "user") from error

    def to_json(self, _sample: Sample, message: Message) -> Any:
        return json_format.MessageToDict(message)

    def service(self) -> Service:
        return service.answerer(self.workload, self)


class Hybrids(Dicts):
    """JSON as the one string field of a protobuf message."""

    def __init__(self, workload: Workload) -> None:
        from hybrid_pb2 import Hybrid

        def encode(message: Any) -> bytes:
            return bytes(Hybrid(json=to_text(message)).SerializeToString())

        def decode(data: bytes) -> Any:
            return json.loads(Hybrid.FromString(data).json)

        coder = Coder(encode, decode)
        super().__init__(workload, coder, versions(), "generated")
        self.method = Generic(workload.method, coder)


def load(workload: Workload, encoding: str) -> Protobufs | Hybrids:
    return Hybrids(workload) if encoding == "hybrid" else Protobufs(workload, encoding)
