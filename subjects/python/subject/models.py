"""Messages as pydantic models, which are derived from the descriptors."""

import json
from importlib import metadata
from typing import Any

from pydantic import TypeAdapter, ValidationError

from subject import service
from subject.contract import Refused
from subject.messages import Coder, Sample, Service
from subject.methods import Method
from subject.workloads import Workload

# With the names of the proto3 JSON mapping, and without fields that have their default.
MAPPED: dict[str, Any] = {"by_alias": True, "exclude_defaults": True}


class Models:
    code = "generated"
    refusals: tuple[type[Exception], ...] = (ValueError,)

    def __init__(self, workload: Workload) -> None:
        self.versions = {"pydantic": metadata.version("pydantic")}
        self.workload = workload
        self.method = Method.of(workload)
        from generated.models import MESSAGES

        self.types = MESSAGES

    def named(self, name: str) -> Any:
        return self.types[name]

    def kind(self, sample: Sample) -> Any:
        return self.named(getattr(self.method, sample))

    def coder(self, sample: Sample) -> Coder:
        adapter = TypeAdapter(self.kind(sample))
        return Coder(
            lambda message: adapter.dump_json(message, **MAPPED),
            adapter.validate_json,
        )

    def from_json(self, sample: Sample, message: Any) -> Any:
        adapter = TypeAdapter(self.kind(sample))
        try:
            # An extension is not a field of any model.
            return adapter.validate_json(json.dumps(message), extra="forbid")
        except ValidationError as error:
            raise Refused(f"the {sample} does not fit pydantic's models: {error}", "user") from error

    def to_json(self, sample: Sample, message: Any) -> Any:
        return json.loads(self.coder(sample).encode(message))

    def to_plain(self, sample: Sample, message: Any) -> Any:
        """Convert to dicts with native Python values: bytes and numbers are not strings."""
        return TypeAdapter(self.kind(sample)).dump_python(message, **MAPPED)

    def from_plain(self, sample: Sample, plain: Any) -> Any:
        return TypeAdapter(self.kind(sample)).validate_python(plain)

    def service(self) -> Service:
        return service.answerer(self.workload, self)
