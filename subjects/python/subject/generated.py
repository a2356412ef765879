"""Messages of the classes that protoc generated, and what a service does with them."""

from collections.abc import Callable
from importlib import metadata
from typing import Any

from google.protobuf import json_format
from google.protobuf.internal import api_implementation
from google.protobuf.message import Message

from subject import plain
from subject.contract import Json, Refused
from subject.workloads import Workload


def versions(*packages: str) -> dict[str, str]:
    """The installed versions of packages, and which of its implementations protobuf uses."""
    told = {package: metadata.version(package) for package in ("protobuf", *packages)}
    return {**told, "protobuf-implementation": api_implementation.Type()}


def from_json(workload: Workload, sample: str, message: Json) -> Message:
    """A sample in proto3 JSON as a message."""
    message_type = workload.message_type(getattr(workload, sample))
    try:
        return json_format.ParseDict(message, message_type())
    except json_format.ParseError as error:
        raise Refused(f"the {sample} is no {message_type.__name__}: {error}", "user") from error


def answerer(workload: Workload) -> Callable[[Any], Message]:
    """The service: it answers a request, or a ValueError says what is wrong with it."""
    answer = workload.message_type(workload.response)

    def items(n: int) -> Message:
        if n not in plain.MOST_ITEMS:
            raise ValueError(f"id is {n}: it must be 0 to {plain.MOST_ITEMS[-1]}")
        return json_format.ParseDict(plain.items(n), answer())

    def profile(request: Any) -> Message:
        user = request.userId
        info = workload.message_type("GetMemberProfileInfo")(
            id=user,
            email=f"m{user}@uni.edu",
            profileImage=f"{user}.png",
            nickname=f"m{user}",
        )
        return answer(info=info)

    def followers(request: Any) -> Message:
        first = request.userId + plain.FIRST_FOLLOWER
        return answer(userId=range(first, first + workload.n))

    match workload.name:
        case "echo":
            return lambda request: request
        case "hello":
            return lambda request: answer(message=f"Hello, {request.name}.")
        case "list":
            kept = items(workload.n)
            return lambda request: kept if request.id == workload.n else items(request.id)
        case "profile":
            return profile
        case "followers":
            return followers
    raise AssertionError(workload.name)
