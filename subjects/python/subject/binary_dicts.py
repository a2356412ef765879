"""Dicts for the packages that read and write bytes: orjson, msgpack."""

from importlib import metadata
from typing import Any

from subject.dicts import Dicts
from subject.messages import Coder, Messages, Sample
from subject.workloads import Workload


def load(stack: str, workload: Workload) -> Messages:
    versions = {stack: metadata.version(stack)}
    if stack == "orjson":
        import orjson

        return Dicts(workload, Coder(orjson.dumps, orjson.loads), versions)
    import msgpack

    # By default it accepts only strings as keys of a map, which is enough for the built-in messages.
    options = {"strict_map_key": False} if workload.is_own else {}
    coder = Coder(msgpack.packb, lambda data: msgpack.unpackb(data, **options))
    return Native(workload, coder, versions)


class Native(Dicts):
    """Dicts with bytes, and with numbers that are not strings, for an encoding that supports them."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        from subject.models import Models

        self.models = Models(self.workload)

    def from_json(self, sample: Sample, message: Any) -> Any:
        return self.models.to_plain(sample, self.models.from_json(sample, message))

    def to_json(self, sample: Sample, message: Any) -> Any:
        return self.models.to_json(sample, self.models.from_plain(sample, message))
