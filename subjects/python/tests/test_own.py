"""Workload `own`: messages with every protobuf feature, and with names that clash with Python's."""

import base64
import json
from typing import Any

from tests.harness import (
    AIO,
    FASTAPI,
    GRPC,
    HTTP,
    HTTPX,
    HYBRID,
    ODD,
    REQUESTS,
    SubjectTest,
    as_text,
    build,
)
from tests.test_codec import CODECS

setUpModule = build

TCP = {"transport": "tcp"}
PROTOJSON = {"encoding": "protojson"}
CALLS = [
    (HTTP, HTTP),
    (FASTAPI, HTTPX),
    (FASTAPI, REQUESTS),
    (HTTP | PROTOJSON, HTTPX | PROTOJSON),
    (FASTAPI | PROTOJSON, REQUESTS | PROTOJSON),
    (GRPC, AIO),
    (AIO, GRPC),
    (HYBRID, HYBRID),
]

FOO = {
    "name": "x",
    "n": 7,
    "foo": [{"name": "y"}, {}],
    "Foo": {
        "def": "-9007199254740993",
        "result": {"url": "u"},
        "json": ["+/+/", ""],
        "color": "RED",
        "modelConfig": "m",
    },
    "byWide": {"-9007199254740993": {"e": "B"}, "5": {"parent": {"n": 1}}},
    "byBool": {"true": "yes"},
    "bytes": {"k": "AAE="},
    "enums": {"4000000000": "B"},
    "u": "18446744073709551615",
    "int": "i",
    "copy": "c",
    "Model": "m",
    "e": "B",
    "@odd name": "o",
    "None": "n",
    "U": "u",
}
BIG = {
    "foo": FOO,
    "time": "2026-11-23T08:00:00.500Z",
    "duration": "1.500s",
    "wide": "9007199254740993",
    "held": "AAE=",
    "struct": {"a": [1.0, "b", None, {"c": True}]},
    "value": {"any": "thing"},
    "values": [1.5, "x"],
    "any": {"@type": "type.googleapis.com/a.b_c.Foo", "name": "held", "u": "1"},
    "empty": {},
    "mask": "a.b,c",
    "http": {"get": "/x"},
    "data": "AAE=",
    "times": ["2026-11-23T08:00:00Z"],
    "byName": {"a": 1.0, "b": "x"},
    "zero": False,
    "fixed": "-1",
    "bytes": "+/8=",
    "signed": ["-1", "2"],
    "infinite": "-Infinity",
    "small": 0.5,
}


def numbered(value: Any) -> Any:
    """Convert 64-bit integers to numbers: they are the only texts of `BIG` that consist of digits."""
    match value:
        case dict():
            return {key: numbered(field) for key, field in value.items()}
        case list():
            return [numbered(element) for element in value]
        case str() if value.removeprefix("-").isdigit():
            return int(value)
    return value


def in_form(encoding: str) -> Any:
    """Return the sample as the settings have it for an encoding."""
    return numbered(BIG) if encoding in ("json", "hybrid") else BIG


def own(method: str, request: Any, response: Any) -> dict[str, Any]:
    """Return a workload whose descriptors already exist as generated code."""
    samples = {"request": request, "response": response}
    return {"name": "own", "descriptor_set": "", "method": method, **samples}


def url_safe_as_standard(value: Any) -> Any:
    """Convert bytes to the alphabet that all libraries except pydantic write; readers accept both alphabets."""
    match value:
        case dict():
            return {key: url_safe_as_standard(field) for key, field in value.items()}
        case list():
            return [url_safe_as_standard(element) for element in value]
        case "-_-_" | "-_8=":
            return value.replace("-", "+").replace("_", "/")
    return value


class Own(SubjectTest):
    def check(self, message: Any, want: Any) -> None:
        self.assertEqual(as_text(numbered(url_safe_as_standard(message))), as_text(numbered(want)))

    def test_codecs_keep_all_of_a_message(self) -> None:
        for stack, encoding in CODECS:
            for operation in ("encode", "decode"):
                with self.subTest(stack=stack, encoding=encoding, operation=operation):
                    codec = self.start(
                        messages=ODD,
                        role="codec",
                        stack=stack,
                        encoding=encoding,
                        operation=operation,
                        records=str(self.records),
                        workload=own("Odd/Do", in_form(encoding), in_form(encoding)),
                        sample="response",
                        message=in_form(encoding),
                    )
                    verified = codec.ask({"verify": True})["verified"]
                    if operation == "decode":
                        self.check(verified["message"], BIG)
                    elif encoding in ("json", "protojson"):
                        written = json.loads(base64.b64decode(verified["bytes"]))
                        self.check(written, BIG)
                        self.assertEqual(written["wide"], in_form(encoding)["wide"])

    def called(self, server: Any, client: Any, workload: dict[str, Any]) -> Any:
        listening = self.start(
            messages=ODD, role="server", **server, workload=workload, listen=TCP
        ).reply["address"]
        calling = self.start(
            messages=ODD,
            role="client",
            **client,
            workload=workload,
            address=listening,
            requests=[workload["request"]],
            deadline_ms=10_000,
            records=str(self.records),
        )
        return calling.ask({"verify": True})["verified"]["message"]

    def test_servers_answer_what_they_are_given(self) -> None:
        for server, client in CALLS:
            with self.subTest(server=server, client=client):
                sample = in_form(server["encoding"])
                self.check(self.called(server, client, own("Odd/Do", sample, sample)), BIG)

    def test_a_message_may_be_text_alone(self) -> None:
        for server, client in CALLS:
            with self.subTest(server=server, client=client):
                self.assertEqual(self.called(server, client, own("Odd/Text", {}, "text")), "text")

    def test_a_method_without_code_is_the_instruments_fault(self) -> None:
        for stack in (FASTAPI, GRPC):
            settings = {"workload": own("Odd/Dont", {}, {}), "listen": TCP}
            error, fault = self.refused(role="server", **stack, **settings)
            self.assertIn("no code was generated for Odd/Dont", error)
            self.assertEqual(fault, "instrument")
