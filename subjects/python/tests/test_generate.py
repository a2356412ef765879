"""Tests what the generator writes, and where."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.harness import BUILT, TOML, build, with_messages

setUpModule = build

# Writes a set with a single file that has not been checked.
WRITE_SET = """
import sys
from pathlib import Path
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

file = FileDescriptorProto(name=sys.argv[1], syntax="proto3")
file.message_type.add(name="M")
service = file.service.add(name="S")
service.method.add(name="Get", input_type=".M", output_type=".M")
Path(sys.argv[2]).write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
"""


class Generate(unittest.TestCase):
    def test_no_file_is_written_outside_of_the_set_s_package(self) -> None:
        for name in ("../outside.proto", "a/../../../../outside.proto", "/outside.proto"):
            with self.subTest(name), tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary) / "sets" / "set"
                folder.mkdir(parents=True)
                path = folder / "descriptors.binpb"
                subprocess.run(
                    ["venv/bin/python", "-c", WRITE_SET, name, path], cwd=BUILT, check=True
                )
                method = {"path": "/S/Get", "request": "M", "response": "M"}
                files = {"generate": [name], "methods": [method]}
                (folder / "files.json").write_text(json.dumps(files))
                (command,) = TOML["messages"]["generate"]
                ended = subprocess.run(
                    with_messages(command, folder), cwd=BUILT, capture_output=True, text=True
                )
                self.assertEqual(ended.returncode, 1, ended.stderr)
                self.assertIn(f"{name!r} would be written outside of", ended.stderr)
                self.assertEqual([*Path(temporary).rglob("outside*")], [])
