"""Services for messages that are objects: protobuf's messages and pydantic's models."""

from collections.abc import Callable
from itertools import repeat
from typing import Any, Protocol

from subject import dicts
from subject.messages import Listing, Sample, Service
from subject.workloads import Workload


class Types(Protocol):
    def kind(self, sample: Sample) -> Any:
        """Return the class of the requests or of the responses."""

    def named(self, name: str) -> Any:
        """Return a class by the full name of its message."""

    def from_json(self, sample: Sample, message: Any) -> Any: ...


def answerer(workload: Workload, types: Types) -> Service:
    match workload.name:
        case "own":
            kept = types.from_json("response", workload.response)
            return lambda request: kept
        case "echo":
            return lambda request: request
        case "list":
            return items(workload.n, types)
    answer = types.kind("response")
    match workload.name:
        case "hello":
            return lambda request: answer(message=f"Hello, {request.name}.")
        case "items":
            numbered = typed_items(answer)
            return lambda request: numbered(item_id(request))
        case "profile":
            return profiles(answer, types.named("GetMemberProfileInfo"))
        case "followers":
            return followers(answer, workload.n)
    raise AssertionError(workload.name)


def lister(workload: Workload, types: Types, messages: int) -> Listing:
    """Return a service that responds with this many messages."""
    if workload.is_own:
        kept = types.from_json("response", workload.response)
        return lambda request: repeat(kept, messages)
    numbered = typed_items(types.kind("response"))

    def items_from(request: Any) -> Any:
        first = item_id(request)
        return map(numbered, range(first, first + messages))

    return items_from


def typed_items(answer: Any) -> Callable[[int], Any]:
    return dicts.keeping(lambda i: answer(**dicts.item(i)))


def items(n: int, types: Types) -> Service:
    def made(n: int) -> Any:
        if n not in dicts.MAX_ITEMS:
            raise ValueError(f"id is {n}: it must be 0 to {dicts.MAX_ITEMS[-1]}")
        return types.from_json("response", dicts.items(n))

    kept = made(n)
    return lambda request: kept if request.id == n else made(request.id)


def item_id(request: Any) -> int:
    asked: int = request.id
    if asked not in dicts.ITEM_IDS:
        raise ValueError(f"id is {asked}: it must be {dicts.ITEM_IDS[0]} to {dicts.ITEM_IDS[-1]}")
    return asked


def profiles(answer: Any, info: Any) -> Service:
    def profile(request: Any) -> Any:
        user = request.userId
        return answer(
            info=info(
                id=user,
                email=f"m{user}@uni.edu",
                profileImage=f"{user}.png",
                nickname=f"m{user}",
            )
        )

    return profile


def followers(answer: Any, n: int) -> Service:
    def ids(request: Any) -> Any:
        first = request.userId + dicts.FIRST_FOLLOWER
        if first + n > dicts.INT64.stop:
            raise ValueError(f"userId is {request.userId}: too large for {n} followers")
        return answer(userId=list(range(first, first + n)))

    return ids
