"""The workloads: their paths and methods, and the samples of a user's own workload."""

from dataclasses import dataclass, replace
from typing import Any

from subject.contract import CallSettings, Json, Refused

OWN = "own"
OWN_KEYS = {"name", "descriptor_set", "method", "request", "response"}


@dataclass(frozen=True, kw_only=True)
class Workload:
    name: str
    # The path of the REST resource.
    path: str
    # `package.Service/Method`.
    method: str
    # "unary", or the form of a stream.
    form: str = "unary"
    sized: bool = False
    n: int = 0
    # The response of a user's own method, in the proto3 JSON mapping.
    response: Any = None

    @property
    def is_own(self) -> bool:
        return self.name == OWN


BUILTIN = (
    Workload(
        name="echo",
        path="/several/data",
        method="several.SeveralService/GetSeveralData",
        sized=True,
    ),
    Workload(name="hello", path="/hello", method="hello.Hello/SayHello"),
    Workload(
        name="list",
        path="/example/list",
        method="ExampleService/ExampleResponse1List",
        sized=True,
    ),
    Workload(name="items", path="/items", method="ItemService/GetItem"),
    Workload(
        name="records", path="/records", method="records.RecordService/GetRecords", sized=True
    ),
    Workload(
        name="profile",
        path="/members/profile",
        method="GetMemberProfileService/GetMemberProfileCall",
    ),
    Workload(
        name="followers",
        path="/members/followers",
        method="GetFollowerService/GetFollowerCall",
        sized=True,
    ),
)

ITEM_STREAMS = {
    "client": "ItemService/PutItems",
    "server": "ItemService/ListItems",
    "bidirectional": "ItemService/ExchangeItems",
}


def of_calls(settings: CallSettings) -> Workload:
    """Return the workload with the method for the form of the calls."""
    workload = find(settings.workload)
    if settings.stream is None:
        return workload
    form = settings.stream.form
    method = workload.method if workload.is_own else ITEM_STREAMS[form]
    return replace(workload, method=method, form=form)


def find(asked: Json) -> Workload:
    """Return the workload of a settings line, whose name has been checked."""
    name = asked["name"]
    if name == OWN:
        if asked.keys() != OWN_KEYS or not isinstance(asked["method"], str):
            keys = ", ".join(sorted(OWN_KEYS))
            raise Refused(f"the workload {OWN} has {keys}", "instrument")
        method = asked["method"]
        return Workload(name=OWN, path=f"/{method}", method=method, response=asked["response"])
    workload = next(known for known in BUILTIN if known.name == name)
    wanted = {"name", "n"} if workload.sized else {"name"}
    n = asked.get("n", 0)
    if asked.keys() != wanted or type(n) is not int or n < 0:
        keys = " and ".join(sorted(wanted))
        raise Refused(f"the workload {workload.name} has {keys}", "instrument")
    return replace(workload, n=n)
