/** The stacks and their features, as declared in subject.toml. */

import type { Settings } from "./contract.js";
import { Refused } from "./refused.js";
import { EVERY_WORKLOAD, STREAMING_WORKLOADS } from "./workloads.js";

const LEVELS = ["gzip", ..."123456789"].map((level) => (level === "gzip" ? level : `gzip:${level}`));
/** Libraries with a single level use zlib's default. */
const ONE_LEVEL = ["none", "gzip", "gzip:6"];
const EVERY_LEVEL = ["none", ...LEVELS];
const IN_FLIGHT = 1024;
const CHANNELS = 64;
/** The maximum number of worker processes of a server. */
const THREADS = 16;

export interface Stack {
  roles: Settings["role"][];
  encodings: string[];
  compressions: string[];
  /** Whether the stack supports `max_inflation`; the others have their own limits. */
  boundsInflation: boolean;
  /** The HTTP versions of each protocol. */
  protocols?: Record<string, string[]>;
  styles?: string[];
  /** The forms of streams over gRPC. */
  streams?: string[];
  /** The number of calls in flight, if that is limited further. */
  inFlight?: number;
  /** How connections are used, if not in every way. */
  connections?: string[];
}

const json = { encodings: ["json"], compressions: EVERY_LEVEL, protocols: { rest: ["1.1"] } };
const grpc = { grpc: ["2"] };
const streams = ["client", "server", "bidirectional"];
const grpcJs = {
  boundsInflation: false,
  protocols: grpc,
  encodings: ["protobuf", "hybrid"],
  styles: ["async"],
  streams,
};
const codec = { roles: ["codec" as const], compressions: EVERY_LEVEL, boundsInflation: true };

export const STACKS: Record<string, Stack> = {
  http: { ...json, roles: ["server", "client"], boundsInflation: true, styles: ["async"] },
  fastify: { ...json, roles: ["server"], boundsInflation: false },
  fetch: { ...json, roles: ["client"], boundsInflation: false, styles: ["future"] },
  "grpc-js": { ...grpcJs, roles: ["server", "client"], compressions: ["none"] },
  "grpc-js-gzip": { ...grpcJs, roles: ["client"], compressions: ONE_LEVEL },
  "connect-node": {
    roles: ["server", "client"],
    encodings: ["protobuf", "protojson"],
    compressions: EVERY_LEVEL,
    boundsInflation: false,
    protocols: { ...grpc, connect: ["1.1", "2"] },
    styles: ["future"],
    streams,
  },
  json: { ...codec, encodings: ["json"] },
  msgpack: { ...codec, encodings: ["msgpack"] },
  "protobuf-es": { ...codec, encodings: ["protobuf", "protojson", "hybrid"] },
  protobufjs: { ...codec, encodings: ["protobuf", "hybrid"] },
  "google-protobuf": { ...codec, encodings: ["protobuf"] },
  "ts-proto": { ...codec, encodings: ["protobuf", "hybrid"] },
};

/** Returns which of the stacks the settings name, or refuses if that stack does not support all of them. */
export function choose(stacks: Record<string, Stack>, settings: Settings): string {
  const able = Object.keys(stacks).filter((name) => stacks[name]?.roles.includes(settings.role));
  const name = settings.stack || able[0];
  const stack = name !== undefined && able.includes(name) ? stacks[name] : undefined;
  if (name === undefined || stack === undefined) {
    const error = `no stack "${name}" is a ${settings.role} here: use ${able.join(" or ")}`;
    throw new Refused(error, "user");
  }
  for (const [what, asked, can] of wants(stack, settings)) {
    if (!can.includes(asked)) {
      const error = `the stack ${name} has no ${what} "${asked}", only ${can.join(", ") || "none"}`;
      throw new Refused(error, "user");
    }
  }
  return name;
}

type Want = [what: string, asked: string, can: readonly string[]];

/** Returns each requested feature by name, with the values that the stack supports. */
function wants(stack: Stack, settings: Settings): Want[] {
  const { workload, encoding, limits } = settings;
  const asked: Want[] = [
    ["workload", String(workload.name), EVERY_WORKLOAD],
    ["encoding", encoding, stack.encodings],
    ["limit max_depth", String(limits.max_depth || "its own"), ["its own"]],
  ];
  if (!stack.boundsInflation) {
    asked.push(["limit max_inflation", String(limits.max_inflation || "its own"), ["its own"]]);
  }
  if (settings.role === "codec") {
    asked.push(["compression", settings.compression, stack.compressions]);
    return asked;
  }
  const protocols = stack.protocols ?? {};
  asked.push(
    ["protocol", settings.protocol, Object.keys(protocols)],
    ["HTTP version", settings.http, protocols[settings.protocol] ?? []],
    ["compression", settings.response_compression, stack.compressions],
  );
  if (settings.stream !== undefined) {
    const forms = settings.protocol === "grpc" ? stack.streams : [];
    asked.push(
      [`streams over ${settings.protocol} of the form`, settings.stream.form, forms ?? []],
      ["streams of the workload", String(workload.name), STREAMING_WORKLOADS],
    );
  }
  if (settings.role === "server") {
    if (settings.threads > THREADS) {
      asked.push(["number of threads", String(settings.threads), [`1 to ${THREADS}`]]);
    }
    return asked;
  }
  const usual = stack.styles?.[0] ?? "";
  asked.push(
    ["compression", settings.request_compression, stack.compressions],
    ["style", settings.style || usual, stack.styles ?? []],
  );
  const carriesMany = settings.http === "2" && settings.connection === "reuse";
  const channels = carriesMany ? CHANNELS : 1;
  if (settings.channels > channels) {
    asked.push(["number of channels", String(settings.channels), [`1 to ${channels}`]]);
  }
  const inFlight = stack.inFlight ?? IN_FLIGHT;
  if (settings.in_flight > inFlight) {
    asked.push(["number of calls in flight", String(settings.in_flight), [`1 to ${inFlight}`]]);
  }
  if (stack.connections !== undefined) asked.push(["use of connections", settings.connection, stack.connections]);
  return asked;
}
