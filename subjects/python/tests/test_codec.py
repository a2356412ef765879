"""Role codec."""

import base64
import gzip
import json
from typing import Any

from tests.harness import NOT_KNOWN, TOML, Subject, SubjectTest, as_text, build, golden, vector

setUpModule = build

CODECS = [
    (stack["name"], encoding)
    for stack in TOML["stacks"]
    if "codec" in stack["roles"]
    for encoding in stack["encodings"]
]


class Codecs(SubjectTest):
    def codec(self, codec: tuple[str, str], operation: str, case: Any, **settings: Any) -> Subject:
        stack, encoding = codec
        return self.start(
            role="codec",
            stack=stack,
            encoding=encoding,
            operation=operation,
            records=str(self.records),
            **{
                "workload": case["workload"],
                "sample": "response",
                "message": json.loads(case["response"]["json"]),
                **settings,
            },
        )

    def encoded(self, codec: tuple[str, str], case: Any, **settings: Any) -> bytes:
        verified = self.codec(codec, "encode", case, **settings).ask({"verify": True})["verified"]
        return base64.b64decode(verified["bytes"])

    def test_golden_vectors_are_encoded(self) -> None:
        for case in golden():
            for codec in CODECS:
                stack, encoding = codec
                # msgpack writes 32-bit floats in 64 bits; decoding them is tested below.
                if stack == "msgpack" and case["workload"]["name"] in ("echo", "list", "items"):
                    continue
                with self.subTest(codec=codec, workload=case["workload"]):
                    data = self.encoded(codec, case)
                    want = case["response"][encoding]
                    match encoding:
                        case "json":
                            # 64-bit integers are numbers in both.
                            self.assertEqual(json.loads(data), json.loads(want))
                            self.assertNotIn(b": ", data)
                        case "protojson":
                            self.assertEqual(json.loads(data), json.loads(want))
                        case _:
                            self.assertEqual(data.hex(), want)

    def test_golden_vectors_are_decoded(self) -> None:
        for case in golden():
            for codec in CODECS:
                for sample in ("request", "response"):
                    with self.subTest(codec=codec, workload=case["workload"], sample=sample):
                        message = json.loads(case[sample]["protojson"])
                        subject = self.codec(codec, "decode", case, sample=sample, message=message)
                        verified = subject.ask({"verify": True})["verified"]
                        self.assertEqual(as_text(verified["message"]), as_text(message))

    def test_samples_are_compressed(self) -> None:
        case = vector("list")
        for codec in CODECS:
            with self.subTest(codec):
                plain = self.encoded(codec, case)
                data = self.encoded(codec, case, compression="gzip")
                self.assertEqual(gzip.decompress(data), plain)
                subject = self.codec(codec, "decode", case, compression="gzip:1")
                message = subject.ask({"verify": True})["verified"]["message"]
                self.assertEqual(as_text(message), as_text(json.loads(case["response"]["json"])))

    def test_slices_are_of_batches(self) -> None:
        for codec in CODECS:
            for operation in ("encode", "decode"):
                with self.subTest(codec=codec, operation=operation):
                    subject = self.codec(codec, operation, vector("list"))
                    self.assertEqual(self.records.stat().st_size, 0)
                    _, records = self.slice(subject, skip=2, calls=5, batch=16)
                    self.assertEqual([record.operations for record in records], [16] * 5)
                    for record in records:
                        self.assertEqual((record.status, record.request_bytes), (0, NOT_KNOWN))
                    _, records = self.slice(subject, skip=1, time_us=0, batch=3)
                    self.assertEqual([record.operations for record in records], [3])
                    _, records = self.slice(subject, skip=0, time_us=2_000, batch=1)
                    self.assertGreaterEqual(len(records), 1)
                    # The slice must end, and not too early; how late it ends depends on the machine.
                    self.assertLess(records[-1].begin, records[0].begin + 500_000_000)

    def test_the_implementation_that_is_measured_is_reported(self) -> None:
        for stack, implementation in (("protobuf", "upb"), ("protobuf-python", "python")):
            for encoding in ("protobuf", "protojson", "hybrid"):
                ready = self.codec((stack, encoding), "encode", vector("hello")).reply
                self.assertEqual(ready["versions"]["protobuf-implementation"], implementation)
                self.assertEqual(ready["code"], "generated")

    def test_a_sample_is_the_same_in_each_of_its_forms(self) -> None:
        for stack in ("protobuf", "protobuf-python"):
            for user in (5, "5"):
                message = {"userId": user}
                codec = (stack, "protobuf")
                data = self.encoded(codec, vector("profile"), sample="request", message=message)
                self.assertEqual(data, b"\x08\x05")

    def test_a_sample_that_does_not_fit_is_the_users_fault(self) -> None:
        settings = {
            "role": "codec",
            "workload": {"name": "profile"},
            "sample": "request",
            "operation": "encode",
            "records": str(self.records),
        }
        for stack, encoding, message in (
            ("protobuf", "protobuf", {"user": 1}),
            ("json", "json", {"userId": "one"}),
            ("pydantic", "json", {"userId": "one"}),
            ("pydantic", "json", {"userId": 1, "[an.extension]": 1}),
            ("msgpack", "msgpack", {"userId": "one"}),
        ):
            with self.subTest(stack):
                _, fault = self.refused(**settings, stack=stack, encoding=encoding, message=message)
                self.assertEqual(fault, "user")

    def test_lines_that_are_no_order_end_it(self) -> None:
        for line, want in [
            ({"dance": True}, "neither verify nor slice"),
            ({"slice": {"skip": 0}}, "either calls"),
            ({"slice": {"skip": 0, "calls": 0, "batch": 1}}, "either calls"),
            (
                {"slice": {"skip": 0, "calls": 1, "time_us": 1, "batch": 1}},
                "either calls",
            ),
            ({"slice": {"skip": 0, "calls": 1}}, "must have batch"),
            ({"slice": {"skip": -1, "calls": 1, "batch": 1}}, "skip cannot be -1"),
            ({"slice": {"skip": 0, "calls": 1, "batch": 1, "warm": 1}}, "unknown key 'warm'"),
        ]:
            with self.subTest(line):
                settings = {"message": {"name": "x"}, "sample": "request"}
                codec = Subject(
                    {
                        "role": "codec",
                        "workload": {"name": "hello"},
                        "encoding": "json",
                        "operation": "encode",
                        "records": str(self.records),
                        **settings,
                    }
                )
                reply = codec.ask(line)
                self.assertIn(want, reply["error"])
                self.assertEqual(reply["fault"], "instrument")
                self.assertEqual(codec.end()[0], 2)
