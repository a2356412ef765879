"""Messages as dicts, and the services for them.

`json`, orjson and msgpack decode bytes to dicts, and so does `.json()` in httpx and requests. A dataclass would require
a further step that each program writes in its own way, and that would be measured as if it were the library's. Typed
models are for FastAPI, in `models.py`.
"""

import json
from collections.abc import Callable
from itertools import repeat
from typing import Any

from subject.contract import Json, Refused
from subject.messages import Coder, Listing, Sample, Service
from subject.workloads import Workload

MAX_ITEMS = range(100_001)
ITEM_IDS = range(1, 100_001)
KEPT_ITEMS = range(1, 2_001)
FIRST_FOLLOWER = 10_000
INT32 = range(-(2**31), 2**31)
INT64 = range(-(2**63), 2**63)

# Names of fields that are 64-bit integers in at least one message; in other messages they are narrower integers.
WIDE = {"longData", "long", "userId", "id"}


# The most compact form, according to the documentation of `json`. The encoder is reused: `json.dumps` creates a new one
# for each call with arguments other than its defaults.
to_text = json.JSONEncoder(separators=(",", ":")).encode

STANDARD_LIBRARY = Coder(lambda message: to_text(message).encode(), json.loads)


class Dicts:
    refusals: tuple[type[Exception], ...] = (ValueError, RecursionError)

    def __init__(
        self,
        workload: Workload,
        coder: Coder = STANDARD_LIBRARY,
        versions: dict[str, str] | None = None,
        code: str = "",
    ) -> None:
        self.workload = workload
        self._coder = coder
        self.versions = versions or {}
        self.code = code

    def coder(self, _sample: Sample) -> Coder:
        return self._coder

    def from_json(self, sample: Sample, message: Any) -> Any:
        """Return a user's own message unchanged, and other messages with 64-bit integers as numbers."""
        if self.workload.is_own:
            return message
        try:
            return with_numbers(message)
        except ValueError as error:
            raise Refused(f"the {sample} does not fit its message: {error}", "user") from error

    def to_json(self, _sample: Sample, message: Any) -> Any:
        return message

    def service(self) -> Service:
        return answerer(self.workload)

    def listing(self, messages: int) -> Listing:
        """Return a function that responds to a request with this many messages."""
        if self.workload.is_own:
            return lambda request: repeat(self.workload.response, messages)

        numbered = keeping(item)

        def items_from(request: Any) -> Any:
            first = integer(request, "id", ITEM_IDS)
            return map(numbered, range(first, first + messages))

        return items_from


def with_numbers(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {name: with_numbers(inner, name) for name, inner in value.items()}
        case list():
            return [with_numbers(element, name) for element in value]
        case str() if name in WIDE:
            return int(value)
    return value


def answerer(workload: Workload) -> Service:
    n = workload.n
    match workload.name:
        case "own":
            return lambda request: workload.response
        case "echo":
            return echo
        case "hello":
            return lambda request: {"message": f"Hello, {typed(request, 'name', '', str)}."}
        case "list":
            kept = items(n)
            return lambda request: (
                kept if (asked := integer(request, "id", MAX_ITEMS)) == n else items(asked)
            )
        case "items":
            numbered = keeping(item)
            return lambda request: numbered(integer(request, "id", ITEM_IDS))
        case "profile":
            return profile
        case "followers":
            return lambda request: followers(request, n)
    raise AssertionError(workload.name)


def field(message: Any, name: str, default: Any) -> Any:
    if not isinstance(message, dict):
        raise ValueError("the body is not a JSON object")
    return message.get(name, default)


def integer(message: Json, name: str, within: range = INT64) -> int:
    """Return an integer field: a number, or a string as for 64-bit integers in proto3 JSON."""
    value = field(message, name, 0)
    if type(value) not in (int, str) or int(value) not in within:
        raise ValueError(f"{name} is {value!r}: it must be {within[0]} to {within[-1]}")
    return int(value)


def typed(message: Json, name: str, default: Any, *types: type) -> Any:
    value = field(message, name, default)
    if type(value) not in types:
        raise ValueError(f"{name} cannot be {value!r}")
    return value


def echo(request: Json) -> Json:
    texts = typed(request, "list", [], list)
    if set(map(type, texts)) - {str}:
        raise ValueError("list contains an element that is not a string")
    return {
        "floatData": typed(request, "floatData", 0, int, float),
        "doubleData": typed(request, "doubleData", 0, int, float),
        "intData": integer(request, "intData", INT32),
        "longData": integer(request, "longData"),
        "boolData": typed(request, "boolData", False, bool),
        "stringData": typed(request, "stringData", "", str),
        "list": texts,
    }


def items(n: int) -> Json:
    return {"response": [item(i) for i in range(1, n + 1)]}


def item(i: int) -> Json:
    return {
        "id": i,
        "common": {"id": i},
        "message": {
            "double": i + 0.5,
            "float": i + 0.5,
            "int": i,
            "long": i,
            "boolean": True,
            "string": f"string{i}",
            "enum": "ONE",
            "map": {f"key{i}": i},
        },
        "description": f"description{i}",
    }


def keeping(make: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return a function that returns the item with a number. The first items are made once."""
    kept = [make(i) for i in KEPT_ITEMS]
    return lambda i: kept[i - 1] if i in KEPT_ITEMS else make(i)


def profile(request: Json) -> Json:
    user = integer(request, "userId")
    info = {
        "id": user,
        "email": f"m{user}@uni.edu",
        "profileImage": f"{user}.png",
        "nickname": f"m{user}",
    }
    return {"info": info}


def followers(request: Json, n: int) -> Json:
    first = integer(request, "userId", INT64[: -FIRST_FOLLOWER - n]) + FIRST_FOLLOWER
    return {"userId": list(range(first, first + n))}
