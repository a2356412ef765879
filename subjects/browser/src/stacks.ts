/** The stacks and their features, as declared in subject.toml. */

import type { Stack } from "../node/stacks.js";

/** The maximum number of connections of Chromium to an origin over HTTP/1.1; further calls wait. */
const IN_FLIGHT = 6;

const plain = { compressions: ["none"], boundsInflation: false };
const client = {
  ...plain,
  roles: ["client" as const],
  styles: ["future"],
  inFlight: IN_FLIGHT,
  connections: ["reuse"],
};
const codec: Omit<Stack, "encodings"> = { ...plain, roles: ["codec"] };

export const STACKS: Record<string, Stack> = {
  fetch: { ...client, encodings: ["json"], protocols: { rest: ["1.1"] } },
  "connect-web": { ...client, encodings: ["protobuf", "protojson"], protocols: { connect: ["1.1"] } },
  json: { ...codec, encodings: ["json"] },
  msgpack: { ...codec, encodings: ["msgpack"] },
  "protobuf-es": { ...codec, encodings: ["protobuf", "protojson", "hybrid"] },
  protobufjs: { ...codec, encodings: ["protobuf", "hybrid"] },
};
