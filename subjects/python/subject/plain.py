"""Messages as `json` and `msgpack` read and write them, dicts, and what a service does with them.

A dict is what both libraries make. A typed object would take a step that each service writes in its
own way, and that would be measured as if it were the library's.
"""

import json
from collections.abc import Callable
from typing import Any

from subject.contract import Json, Refused
from subject.workloads import Workload

MOST_ITEMS = range(100_001)
FIRST_FOLLOWER = 10_000
INT32 = range(-(2**31), 2**31)
INT64 = range(-(2**63), 2**63)

# Names that are 64-bit integers in one of the messages; where else they stand, they are narrower ones.
WIDE = {"longData", "long", "userId", "id"}


# The most compact form, as the documentation of `json` has it. One encoder is kept: `json.dumps` makes
# a new one for each call that asks for anything but its defaults.
_encode = json.JSONEncoder(separators=(",", ":")).encode


def encode_json(message: Json) -> bytes:
    return _encode(message).encode()


def from_json(sample: str, message: Json) -> Json:
    """A sample in proto3 JSON, with its 64-bit integers as numbers also where they came as text."""
    try:
        return with_numbers(message)
    except ValueError as error:
        raise Refused(f"the {sample} does not fit its message: {error}", "user") from error


def with_numbers(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {name: with_numbers(field, name) for name, field in value.items()}
        case list():
            return [with_numbers(element, name) for element in value]
        case str() if name in WIDE:
            return int(value)
    return value


def answerer(workload: Workload) -> Callable[[Json], Json]:
    """The service: it answers a request, or a ValueError says what is wrong with it."""
    n = workload.n
    match workload.name:
        case "echo":
            return echo
        case "hello":
            return lambda request: {"message": f"Hello, {typed(request, 'name', '', str)}."}
        case "list":
            kept = items(n)
            return lambda request: (
                kept if (asked := integer(request, "id", MOST_ITEMS)) == n else items(asked)
            )
        case "profile":
            return profile
        case "followers":
            return lambda request: followers(request, n)
    raise AssertionError(workload.name)


def integer(message: Json, name: str, within: range = INT64) -> int:
    """An integer field: a number, or text as proto3 JSON has 64-bit ones."""
    value = message.get(name, 0)
    if type(value) not in (int, str) or int(value) not in within:
        raise ValueError(f"{name} is {value!r}: it must be {within[0]} to {within[-1]}")
    return int(value)


def typed(message: Json, name: str, default: Any, *types: type) -> Any:
    value = message.get(name, default)
    if type(value) not in types:
        raise ValueError(f"{name} cannot be {value!r}")
    return value


def echo(request: Json) -> Json:
    texts = typed(request, "list", [], list)
    if set(map(type, texts)) - {str}:
        raise ValueError("list holds something else than text")
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
