/** The contract's settings line. */

import { Refused } from "./refused.js";
import {
  anyObject, anySample, type Check, flag, integer, isObject, type Json, listOf, object, oneOf, optional, text,
} from "./shape.js";

/** The versions of settings. Only settings with a stream need the second; replies are the same in both. */
const VERSIONS = [1, 2];
const WITH_STREAMS = 2;

/** The version of replies. */
export const CONTRACT = 1;

/** The headers that `marks` adds to a successful response. */
export const HANDLER_START = "rpcgauge-handler-start";
export const HANDLER_END = "rpcgauge-handler-end";

const DEFAULT_MAX_MESSAGE_BYTES = 16 << 20;
const MAX_UINT32 = 2 ** 32 - 1;
const MAX_DEPTH = 100;
const MAX_PARTS = 64;
const MAX_STREAM_MESSAGES = 1_000_000;

const limits = object({
  max_message_bytes: optional(integer(1, MAX_UINT32), DEFAULT_MAX_MESSAGE_BYTES),
  /** 0 if the line does not set it. */
  max_depth: optional(integer(1, MAX_DEPTH), 0),
  max_inflation: optional(integer(1), 0),
});
export type Limits = ReturnType<typeof limits>;

const compression = (value: unknown, where: string): string => {
  const name = text(value, where);
  if (!/^(none|gzip(:[1-9])?|zstd(:([1-9]|1[0-9]))?)$/.test(name)) {
    throw new Refused(`${where} cannot be "${name}"`, "instrument");
  }
  return name;
};

const listen = (value: unknown, where: string) => {
  const asked = object({
    transport: oneOf("tcp", "unix"),
    host: optional(text, "127.0.0.1"),
    path: optional(text, ""),
  })(value, where);
  if ((asked.transport === "unix") !== (asked.path !== "")) {
    throw new Refused("a Unix socket must have a path, and TCP none", "instrument");
  }
  return asked;
};
export type Listen = ReturnType<typeof listen>;

const absolutePath = (value: unknown, where: string): string => {
  const path = text(value, where);
  if (!path.startsWith("/")) throw new Refused(`${where} is not an absolute path`, "instrument");
  return path;
};

const stream = (value: unknown, where: string) => {
  const asked = object({
    form: oneOf("client", "server", "bidirectional", "ndjson", "sse"),
    messages: integer(1, MAX_STREAM_MESSAGES),
    in_turn: optional(flag, false),
  })(value, where);
  if (asked.in_turn && asked.form !== "bidirectional") {
    throw new Refused(`${where} cannot be in_turn: only a bidirectional one can`, "instrument");
  }
  return asked;
};
export type Stream = ReturnType<typeof stream>;

/** The settings that all roles share. */
const common = {
  stack: optional(text, ""),
  workload: anyObject,
  encoding: oneOf(
    "protobuf", "json", "json-proto-names", "protojson", "msgpack", "cbor", "hybrid",
  ),
  limits: optional(limits, limits({}, "limits")),
};

/** The settings that servers and clients share. */
const calling = {
  ...common,
  protocol: oneOf("grpc", "rest", "connect"),
  http: oneOf("1.1", "2"),
  response_compression: optional(compression, "none"),
  marks: optional(flag, false),
  stream: optional<Stream | undefined>(stream, undefined),
};

const server = object({ ...calling, listen, threads: optional(integer(1), 1) });

const client = object({
  ...calling,
  address: text,
  requests: listOf(anySample),
  request_compression: optional(compression, "none"),
  connection: optional(oneOf("reuse", "per-call"), "reuse"),
  channels: optional(integer(1), 1),
  style: optional(oneOf("", "blocking", "future", "coroutine", "async"), ""),
  in_flight: optional(integer(1), 1),
  deadline_ms: integer(1),
  records: absolutePath,
  /** Empty without a stream. */
  message_records: optional(absolutePath, ""),
});

const codec = object({
  ...common,
  sample: oneOf("request", "response"),
  message: anySample,
  operation: oneOf("encode", "decode"),
  compression: optional(compression, "none"),
  records: absolutePath,
});

export type ServerSettings = { role: "server" } & ReturnType<typeof server>;
export type ClientSettings = { role: "client" } & ReturnType<typeof client>;
export type CodecSettings = { role: "codec" } & ReturnType<typeof codec>;
export type Settings = ServerSettings | ClientSettings | CodecSettings;

/** A settings line: a role with the settings of one or several parts. */
export type SettingsLine = { [S in Settings as S["role"]]: { role: S["role"]; parts: S[] } }[Settings["role"]];

const serverPart: Check<ServerSettings> = (value, where) => {
  const settings = server(value, where);
  checkMarks(settings, where);
  return { role: "server", ...settings };
};

const clientPart: Check<ClientSettings> = (value, where) => {
  const settings = client(value, where);
  checkMarks(settings, where);
  if ((settings.stream === undefined) !== (settings.message_records === "")) {
    throw new Refused(`${where} must have stream and message_records, or neither`, "instrument");
  }
  return { role: "client", ...settings };
};

function checkMarks({ stream, marks }: { stream: Stream | undefined; marks: boolean }, where: string): void {
  if (stream !== undefined && marks) {
    throw new Refused(`${where} cannot have marks with a stream`, "instrument");
  }
}

const several = <S>(part: Check<S>) => object({ parts: listOf(part, 2, MAX_PARTS) });
const servers = several(serverPart);
const clients = several(clientPart);

/** Parses a settings line: its version first, then its role, then its keys. */
export function parseSettings(line: string): SettingsLine {
  const { contract, ...settings } = parseObject(line, "the settings line");
  if (!VERSIONS.includes(contract as number)) {
    const version = JSON.stringify(contract) ?? "none";
    const supported = VERSIONS.join(" and ");
    const error = `the settings line has contract version ${version}; this subject supports ${supported}`;
    throw new Refused(error, "instrument");
  }
  const parsed = parseRole(settings);
  const streams = parsed.parts.some((part) => part.role !== "codec" && part.stream !== undefined);
  if (streams && contract !== WITH_STREAMS) {
    throw new Refused(`a stream needs contract version ${WITH_STREAMS}, not ${contract}`, "instrument");
  }
  return parsed;
}

function parseRole({ role, ...keys }: Json): SettingsLine {
  const where = "the settings line";
  switch (role) {
    case "server":
      return { role, parts: [serverPart(keys, where)] };
    case "servers":
      return { role: "server", ...servers(keys, where) };
    case "client":
      return { role, parts: [clientPart(keys, where)] };
    case "clients":
      return { role: "client", ...clients(keys, where) };
    case "codec":
      return { role, parts: [{ role, ...codec(keys, where) }] };
  }
  const known = "server, client, codec, servers and clients";
  const error = `there is no role ${JSON.stringify(role) ?? "named"}: this subject supports ${known}`;
  throw new Refused(error, "instrument");
}

export function parseObject(line: string, what: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Refused(`${what} is not a JSON object: ${String(error)}`, "instrument");
  }
  if (!isObject(value)) throw new Refused(`${what} is not a JSON object`, "instrument");
  return value;
}

const slice = object({
  skip: integer(0),
  calls: optional(integer(1), 0),
  time_us: optional(integer(0), -1),
  batch: optional(integer(1), 0),
});
/** The content of a slice line: `calls`, or if that is 0, `time_us`. A codec's slice has a batch. */
export type Slice = ReturnType<typeof slice>;

export type Ask = { part: number } & ({ verify: true } | { slice: Slice });

/** Parses a line after the ready line, which is for one of `parts` parts. */
export function parseAsk(line: string, parts: number, inBatches: boolean): Ask {
  const { part: said = 0, ...ask } = parseObject(line, "the line");
  const part = integer(0, parts - 1)(said, "the line's part");
  if (Object.keys(ask).length === 1 && ask.verify === true) return { part, verify: true };
  if (Object.keys(ask).length !== 1 || !isObject(ask.slice)) {
    throw new Refused("the line has neither verify nor slice", "instrument");
  }
  const asked = slice(ask.slice, "the slice");
  if (asked.calls > 0 === asked.time_us >= 0) {
    throw new Refused("the slice must have either calls or time_us", "instrument");
  }
  if (asked.batch > 0 !== inBatches) {
    throw new Refused("a codec's slice must have batch, and a client's must not", "instrument");
  }
  return { part, slice: asked };
}
