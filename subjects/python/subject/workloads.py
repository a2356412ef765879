"""The built-in workloads: where they are called, and the types of their messages."""

import importlib
from dataclasses import dataclass, replace
from typing import Any

from subject.contract import Json, Refused


@dataclass(frozen=True, kw_only=True)
class Workload:
    name: str
    # Of the REST resource.
    path: str
    # The .proto file, and so the module, and the names in it.
    proto: str
    service: str
    method: str
    request: str
    response: str
    sized: bool = False
    n: int = 0

    def message_type(self, name: str) -> Any:
        """A class that protoc generated, by its name in the .proto file."""
        return getattr(importlib.import_module(f"{self.proto}_pb2"), name)

    def stub(self, channel: Any) -> Any:
        """The method of the stub that grpcio-tools generated."""
        module = importlib.import_module(f"{self.proto}_pb2_grpc")
        return getattr(getattr(module, f"{self.service}Stub")(channel), self.method)

    def add_to_server(self, servicer: Any, server: Any) -> None:
        module = importlib.import_module(f"{self.proto}_pb2_grpc")
        getattr(module, f"add_{self.service}Servicer_to_server")(servicer, server)


WORKLOADS = (
    Workload(
        name="echo",
        path="/several/data",
        proto="several",
        service="SeveralService",
        method="GetSeveralData",
        request="SeveralData",
        response="SeveralData",
        sized=True,
    ),
    Workload(
        name="hello",
        path="/hello",
        proto="hello",
        service="Hello",
        method="SayHello",
        request="HelloRequest",
        response="HelloReply",
    ),
    Workload(
        name="list",
        path="/example/list",
        proto="list",
        service="ExampleService",
        method="ExampleResponse1List",
        request="ExampleRequest",
        response="ExampleResponse1Array",
        sized=True,
    ),
    Workload(
        name="records",
        path="/records",
        proto="records",
        service="RecordService",
        method="GetRecords",
        request="RecordsRequest",
        response="RecordsReply",
        sized=True,
    ),
    Workload(
        name="profile",
        path="/members/profile",
        proto="profile",
        service="GetMemberProfileService",
        method="GetMemberProfileCall",
        request="GetMemberProfileRequest",
        response="GetMemberProfileResponse",
    ),
    Workload(
        name="followers",
        path="/members/followers",
        proto="followers",
        service="GetFollowerService",
        method="GetFollowerCall",
        request="GetFollowerRequest",
        response="GetFollowerResponse",
        sized=True,
    ),
)


def find(asked: Json) -> Workload:
    """The workload of a settings line; its name is a known one."""
    workload = next(known for known in WORKLOADS if known.name == asked["name"])
    wanted = {"name", "n"} if workload.sized else {"name"}
    n = asked.get("n", 0)
    if asked.keys() != wanted or type(n) is not int or n < 0:
        keys = " and ".join(sorted(wanted))
        raise Refused(f"the workload {workload.name} has {keys}", "instrument")
    return replace(workload, n=n)
