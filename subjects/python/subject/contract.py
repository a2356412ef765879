"""The contract's lines: settings in, one reply out, then a reply to each line."""

import json
import platform
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, BinaryIO, Literal, NamedTuple, TextIO, get_args, get_origin, get_type_hints

from subject import VERSION

# Version 2 adds streams. Replies are the same in both versions.
CONTRACT = 1
WITH_STREAMS = 2
VERSIONS = (CONTRACT, WITH_STREAMS)
MAX_LINE_BYTES = 64 << 20
PARTS = range(2, 64 + 1)
STREAM_MESSAGES = range(1, 1_000_000 + 1)

# The headers that `marks` adds to a successful response.
HANDLER_START = "rpcgauge-handler-start"
HANDLER_END = "rpcgauge-handler-end"

Json = dict[str, Any]
Fault = Literal["user", "instrument", "subject", "machine"]
EXIT_CODES: dict[Fault, int] = {"subject": 1, "user": 2, "instrument": 2, "machine": 3}


class Refused(Exception):
    """States why a request cannot be fulfilled, and the side at fault."""

    def __init__(self, error: str, fault: Fault) -> None:
        super().__init__(error)
        self.fault: Fault = fault


@dataclass(frozen=True, kw_only=True)
class Limits:
    """None for limits that the line does not set, except for the limits that every stack applies."""

    max_message_bytes: int = 16 << 20
    max_depth: int | None = None
    max_inflation: int | None = None


@dataclass(frozen=True, kw_only=True)
class Listen:
    transport: Literal["tcp", "unix"]
    host: str = "127.0.0.1"
    path: str = ""

    def __post_init__(self) -> None:
        if (self.transport == "unix") != bool(self.path):
            raise Refused("a Unix socket must have a path, and TCP none", "instrument")


Form = Literal["client", "server", "bidirectional", "ndjson", "sse"]


@dataclass(frozen=True, kw_only=True)
class Stream:
    form: Form
    messages: int
    in_turn: bool = False

    def __post_init__(self) -> None:
        if self.messages not in STREAM_MESSAGES:
            least, most = STREAM_MESSAGES[0], STREAM_MESSAGES[-1]
            error = f"a stream has {self.messages} messages, not {least} to {most}"
            raise Refused(error, "instrument")
        if self.in_turn and self.form != "bidirectional":
            raise Refused(f"messages of the form {self.form} cannot be in turn", "instrument")


Protocol = Literal["grpc", "rest", "connect"]
Http = Literal["1.1", "2"]
Encoding = Literal["protobuf", "json", "protojson", "json-proto-names", "msgpack", "cbor", "hybrid"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that all roles share."""

    workload: Json
    encoding: Encoding
    stack: str = ""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True)
class CallSettings(Settings):
    """The settings that servers and clients share."""

    protocol: Protocol
    http: Http
    response_compression: str = "none"
    marks: bool = False
    # None for unary calls.
    stream: Stream | None = None

    def __post_init__(self) -> None:
        if self.stream and self.marks:
            raise Refused("there are no marks in streams", "instrument")


@dataclass(frozen=True, kw_only=True)
class ServerSettings(CallSettings):
    listen: Listen
    threads: int = 1


@dataclass(frozen=True, kw_only=True)
class ClientSettings(CallSettings):
    address: str
    requests: list[Json]
    deadline_ms: int
    records: str
    request_compression: str = "none"
    connection: Literal["reuse", "per-call"] = "reuse"
    channels: int = 1
    style: str = ""
    in_flight: int = 1
    message_records: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.stream is None) != (self.message_records is None):
            raise Refused("a stream must have message_records, and unary calls none", "instrument")


@dataclass(frozen=True, kw_only=True)
class CodecSettings(Settings):
    sample: Literal["request", "response"]
    # An object, unless its type has its own form in JSON.
    message: object
    operation: Literal["encode", "decode"]
    records: str
    compression: str = "none"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The content of a slice line; a codec's slice has a batch."""

    skip: int
    calls: int | None = None
    time_us: int | None = None
    batch: int = 0


@dataclass(frozen=True, kw_only=True)
class Several:
    """The settings of several parts that a process plays in the same role."""

    parts: list[object]

    def __post_init__(self) -> None:
        if len(self.parts) not in PARTS:
            error = f"the settings line has {len(self.parts)} parts, not {PARTS[0]} to {PARTS[-1]}"
            raise Refused(error, "instrument")


class ReadyPart(NamedTuple):
    """The entry of the ready line for a part."""

    versions: dict[str, str]
    # None if messages have neither generated code nor descriptors.
    code: str
    # Only for servers.
    address: str = ""


ROLES = {"server": ServerSettings, "client": ClientSettings, "codec": CodecSettings}
SEVERAL = {"servers": "server", "clients": "client"}


def parse_settings(line: bytes) -> tuple[str, list[Any]]:
    """Parse a settings line: its version first, then its role, then its keys.

    Returns the role and the settings of each part.
    """
    settings = parse_object(line, "the settings line")
    version = settings.get("contract")
    if version not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        error = f"the settings line has contract version {version!r}; this subject supports {known}"
        raise Refused(error, "instrument")
    role, parts = parse_role(settings)
    if version < WITH_STREAMS and any(getattr(part, "stream", None) for part in parts):
        raise Refused(f"a stream requires contract version {WITH_STREAMS}", "instrument")
    return role, parts


def parse_role(settings: Json) -> tuple[str, list[Any]]:
    keys = {key: value for key, value in settings.items() if key not in ("contract", "role")}
    match settings.get("role"):
        case str(role) if role in ROLES:
            return role, [shaped(ROLES[role], keys, "the settings line")]
        case str(roles) if roles in SEVERAL:
            role = SEVERAL[roles]
            parts = enumerate(shaped(Several, keys, "the settings line").parts)
            return role, [checked(ROLES[role], part, f"part {at}") for at, part in parts]
        case other:
            known = ", ".join([*ROLES, *SEVERAL])
            raise Refused(f"unknown role {other!r}: this subject supports {known}", "instrument")


def parse_object(line: bytes, what: str) -> Json:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{what} is not a JSON object: {error}", "instrument") from error
    if not isinstance(value, dict):
        raise Refused(f"{what} is not a JSON object", "instrument")
    return value


def shaped(kind: type, keys: Json, where: str) -> Any:
    """Create a dataclass from an object's keys, and refuse unknown keys and invalid values."""
    hints = get_type_hints(kind)
    required = {
        f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING
    }
    if wrong := sorted(keys.keys() - hints.keys()):
        raise Refused(f"{where} has an unknown key {wrong[0]!r}", "instrument")
    if missing := sorted(required - keys.keys()):
        raise Refused(f"{where} lacks {missing[0]!r}", "instrument")
    return kind(**{key: checked(hints[key], keys[key], f"{where}'s {key}") for key in keys})


def checked(hint: Any, value: Any, where: str) -> Any:
    if isinstance(hint, UnionType):
        # None is only a default: a line omits the key.
        hint = get_args(hint)[0]
    if isinstance(hint, type) and is_dataclass(hint) and isinstance(value, dict):
        return shaped(hint, value, where)
    if get_origin(hint) is Literal:
        fits = value in get_args(hint)
    elif hint is int:
        fits = type(value) is int and value >= 0
    else:
        fits = isinstance(value, get_origin(hint) or hint)
    if not fits:
        raise Refused(f"{where} cannot be {value!r}", "instrument")
    return value


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


class Conversation:
    """The subject's end of standard input and output."""

    def __init__(self, lines: BinaryIO, replies: TextIO) -> None:
        self.lines = lines
        self.replies = replies

    def read_line(self) -> bytes:
        """Return the next line; empty at the end."""
        line = self.lines.readline(MAX_LINE_BYTES + 1)
        if len(line) > MAX_LINE_BYTES:
            raise Refused(f"a line is longer than {MAX_LINE_BYTES} bytes", "instrument")
        return line

    def wait_for_end(self) -> None:
        """Wait until the lab closes the input, and discard everything before that."""
        while self.lines.readline(1 << 16):
            pass

    def reply(self, reply: Json) -> None:
        self.replies.write(json.dumps(reply, separators=(",", ":")) + "\n")
        self.replies.flush()

    def reply_ready(self, parts: Sequence[ReadyPart]) -> None:
        """Write the ready line. Several parts are written as a list, in the order of their settings."""
        versions = {"python": platform.python_version(), "rpcgauge-python": VERSION}
        said: list[Json] = []
        for part in parts:
            versions |= part.versions
            keys = {"address": part.address, "code": part.code}
            said.append({key: value for key, value in keys.items() if value})
        all_said = said[0] if len(said) == 1 else {"parts": said}
        self.reply({"contract": CONTRACT, "ready": True, **all_said, "versions": versions})

    def reply_refused(self, refused: Refused) -> None:
        self.reply({"contract": CONTRACT, "error": one_line(refused), "fault": refused.fault})
