"""Generates the code for a set of messages: protobuf and gRPC with grpcio-tools, and pydantic's models.

Called with the set's folder, which contains descriptors.binpb and files.json. All code goes in a package `generated`
there, so that no file of a user can shadow an installed package.
"""

import json
import sys
from pathlib import Path
from pprint import pformat

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_tools import protoc

from subject import generate_models

PACKAGE = "generated"
PROTOS = f"{PACKAGE}/protos/"


def main() -> int:
    folder = Path(sys.argv[1])
    files = json.loads((folder / "files.json").read_text())
    described = FileDescriptorSet.FromString((folder / "descriptors.binpb").read_bytes())
    names = set(files["generate"])
    protos = (folder / PROTOS).resolve()
    for name in names:
        if not (protos / name).resolve().is_relative_to(protos):
            print(f"{name!r} would be written outside of {protos}", file=sys.stderr)
            return 1
    (folder / PACKAGE).mkdir(exist_ok=True)
    if code := generate_protos(folder, described, names):
        return code
    pool = DescriptorPool()
    modules: list[str] = []
    services: dict[str, str] = {}
    for file in described.file:
        pool.Add(file)
        if file.name in names:
            modules.append(module_of(file))
            services |= dict.fromkeys(services_of(file), modules[-1])
    types = {method[kind] for method in files["methods"] for kind in ("request", "response")}
    messages = [pool.FindMessageTypeByName(name) for name in sorted(types)]
    write(folder, "models", generate_models.source(messages))
    methods = {
        path: (
            services[path.rpartition("/")[0]],
            method["request"],
            method["response"],
            method.get("stream", "unary"),
        )
        for method in files["methods"]
        for path in [method["path"].removeprefix("/")]
    }
    write(folder, "methods", f"MODULES = {modules}\nMETHODS = {pformat(methods)}\n")
    return check_all(folder / PACKAGE)


def generate_protos(folder: Path, described: FileDescriptorSet, names: set[str]) -> int:
    """Run protoc on the files under their new names, and return its exit code."""
    moved = FileDescriptorSet()
    moved.CopyFrom(described)
    for file in moved.file:
        if file.name in names:
            file.name = PROTOS + file.name
        # The elements are replaced in place, because public imports are stored by index.
        for index, name in enumerate(file.dependency):
            if name in names:
                file.dependency[index] = PROTOS + name
    path = folder / PACKAGE / "descriptors.binpb"
    path.write_bytes(moved.SerializeToString())
    outputs = [f"--{kind}_out={folder}" for kind in ("python", "grpc_python")]
    arguments = ["protoc", f"--descriptor_set_in={path}", *outputs]
    return int(protoc.main(arguments + [PROTOS + name for name in sorted(names)]))


def module_of(file: FileDescriptorProto) -> str:
    """Return the name of the module that protoc generates for a file."""
    stem: str = (PROTOS + file.name).removesuffix(".proto")
    return stem.replace("-", "_").replace("/", ".") + "_pb2"


def services_of(file: FileDescriptorProto) -> list[str]:
    """Return the full names of the file's services."""
    return [f"{file.package}.{service.name}".lstrip(".") for service in file.service]


def check_all(folder: Path) -> int:
    """Check the generated code, and return the exit code: a method named like a keyword gives invalid Python."""
    for path in sorted(folder.rglob("*.py")):
        try:
            compile(path.read_bytes(), path, "exec")
        except SyntaxError as error:
            line = (error.text or "").strip()
            print(f"{path.name}:{error.lineno}: {error.msg}: {line}", file=sys.stderr)
            return 1
    return 0


def write(folder: Path, module: str, source: str) -> None:
    (folder / PACKAGE / f"{module}.py").write_text(source)


if __name__ == "__main__":
    sys.exit(main())
