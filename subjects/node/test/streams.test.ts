import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { MESSAGE_RECORD_BYTES } from "../src/message-records.js";
import type { Json } from "../src/shape.js";
import { RECORD_BYTES } from "../src/slices.js";
import { BUILT_IN, CONTRACT, generated, Subject, temporary } from "./harness.js";

const GRPC = { workload: { name: "items" }, protocol: "grpc", http: "2", encoding: "protobuf" };
/** Servers with clients that can call them. */
const PAIRS = [
  ["grpc-js", "grpc-js", {}],
  ["grpc-js", "grpc-js-gzip", { encoding: "hybrid" }],
  ["connect-node", "connect-node", {}],
  ["connect-node", "connect-node", { encoding: "protojson", connection: "per-call" }],
  ["grpc-js", "connect-node", {}],
  ["connect-node", "grpc-js-gzip", { connection: "per-call" }],
] as const;

interface Stream {
  form: "client" | "server" | "bidirectional";
  messages: number;
  in_turn?: boolean;
}
const STREAMS: Stream[] = [
  { form: "client", messages: 5 },
  { form: "server", messages: 5 },
  { form: "bidirectional", messages: 40 },
  { form: "bidirectional", messages: 5, in_turn: true },
];
/** The ids that the client requests again and again. */
const IDS = [7, 8, 9];

const messages = generated(join(CONTRACT, "proto"), ...BUILT_IN);

/** A process with a part for each stream. */
async function start(role: "servers" | "clients", parts: Json[]): Promise<[Subject, Json[]]> {
  const subject = new Subject(messages);
  const ready = await subject.ask({ contract: 2, role, parts });
  assert.equal(ready.ready, true, JSON.stringify(ready));
  return [subject, ready.parts as Json[]];
}

async function serverOf(stack: string, streams: Stream[], more: Json = {}): Promise<[Subject, string[]]> {
  const common = { ...GRPC, stack, listen: { transport: "tcp" }, ...more };
  const [subject, parts] = await start("servers", streams.map((stream) => ({ ...common, stream })));
  return [subject, parts.map(({ address }) => address as string)];
}

/** The files for the records of a part. */
interface Files {
  records: string;
  message_records: string;
}

async function clientOf(
  stack: string,
  streams: Stream[],
  addresses: string[],
  more: Json = {},
): Promise<[Subject, Files[]]> {
  const files = streams.map(() => {
    const folder = temporary();
    return { records: join(folder, "records"), message_records: join(folder, "messages") };
  });
  const requests = IDS.map((id) => ({ id }));
  const common = { ...GRPC, stack, requests, deadline_ms: 10_000, ...more };
  const parts = streams.map((stream, at) => ({ ...common, stream, address: addresses[at], ...files[at] }));
  return [(await start("clients", parts))[0], files];
}

/** A call's record, and the records of its messages. */
interface Recorded {
  begin: bigint;
  sent: bigint;
  first: bigint;
  received: bigint;
  end: bigint;
  failed: boolean;
  sends: bigint[];
  receives: bigint[];
}

function read({ records, message_records }: Files): Recorded[] {
  const [calls, messages] = [readFileSync(records), readFileSync(message_records)];
  assert.equal(calls.length % RECORD_BYTES, 0);
  let at = 0;
  const all = Array.from({ length: calls.length / RECORD_BYTES }, (_, index): Recorded => {
    const call = calls.subarray(index * RECORD_BYTES);
    const count = call.readUInt32LE(76);
    const words = Array.from({ length: 2 * count }, (_, word) => messages.readBigUInt64LE(at + 8 * word));
    at += count * MESSAGE_RECORD_BYTES;
    const seen = (side: number) => words.filter((time, word) => word % 2 === side && time > 0n);
    return {
      begin: call.readBigUInt64LE(0),
      sent: call.readBigUInt64LE(16),
      first: call.readBigUInt64LE(24),
      received: call.readBigUInt64LE(32),
      end: call.readBigUInt64LE(40),
      failed: call.readUInt32LE(72) === 1,
      sends: seen(0),
      receives: seen(1),
    };
  });
  assert.equal(at, messages.length);
  return all;
}

function assertOrdered(...times: (bigint | undefined)[]): void {
  const there = times.map((time) => time ?? 0n).filter((time) => time > 0n);
  assert.deepEqual(there, [...there].sort((a, b) => (a < b ? -1 : 1)));
}

function idsOf({ form, messages }: Stream): number[] {
  const ids = Array.from({ length: messages }, (_, number) => IDS[number % IDS.length] as number);
  if (form === "client") return ids.slice(-1);
  return form === "bidirectional" ? ids : ids.map((_, number) => (IDS[0] as number) + number);
}

for (const [serving, calling, way] of PAIRS) {
  test(`${calling} exchanges streams with ${serving} (${JSON.stringify(way)})`, async () => {
    const { connection = "reuse", encoding = "protobuf" } = way as { connection?: string; encoding?: string };
    const [up, addresses] = await serverOf(serving, STREAMS, { encoding });
    const [client, files] = await clientOf(calling, STREAMS, addresses, { encoding, connection, in_flight: 3 });
    for (const [part, stream] of STREAMS.entries()) {
      const { verified } = (await client.ask({ part, verify: true })) as { verified: { stream: Json[] } };
      assert.deepEqual(verified.stream.map(({ message }) => (message as Json).id), idsOf(stream));
      for (const calls of [7, 2]) {
        const { slice } = (await client.ask({ part, slice: { skip: 1, calls } })) as { slice: Json };
        assert.deepEqual([slice.records, slice.error, slice.reopened], [calls, undefined, undefined]);
      }
      const recorded = read(files[part] as Files);
      assert.equal(recorded.length, 9);
      for (const { begin, sent, first, received, end, failed, sends, receives } of recorded) {
        assert.equal(failed, false);
        assert.equal(sends.length, stream.form === "server" ? 1 : stream.messages);
        assert.equal(receives.length, stream.form === "client" ? 1 : stream.messages);
        assertOrdered(begin, sent, first, received, end);
        assertOrdered(begin, ...sends, end);
        assertOrdered(begin, ...receives, end);
        const ofServer = stream.form === "client" ? [0n, 0n] : [receives[0], receives.at(-1)];
        assert.deepEqual([first, received], ofServer);
        // A response that arrives before the last request is sent hides that time.
        if (sent > 0n || stream.form !== "bidirectional") assert.equal(sent, sends.at(-1));
        if (stream.in_turn) assertOrdered(...sends.flatMap((time, number) => [time, receives[number]]));
      }
    }
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  });
}

for (const [stack, invalid, late] of [
  ["grpc-js", /INVALID_ARGUMENT: id is 0: it must be 1 to 100000/, /DEADLINE_EXCEEDED/],
  ["connect-node", /\[invalid_argument\] id is 0: it must be 1 to 100000/, /\[deadline_exceeded\]/],
] as const) {
  test(`${stack} counts a stream that is not as expected as failed`, async () => {
    const served: Stream[] = [
      { form: "server", messages: 4 },
      { form: "server", messages: 4 },
      { form: "bidirectional", messages: 4 },
      { form: "client", messages: 4 },
      { form: "server", messages: 1_000_000 },
    ];
    const [up, addresses] = await serverOf(stack, served);
    const call = async (part: number, stream: Stream, more: Json = {}): Promise<[unknown, Recorded]> => {
      const [client, [files]] = await clientOf(stack, [stream, stream], Array(2).fill(addresses[part]), more);
      const { slice } = (await client.ask({ slice: { skip: 0, calls: 1 } })) as { slice: Json };
      assert.equal(await client.end(), 0);
      const [recorded] = read(files as Files);
      assert.equal(recorded?.failed, true);
      return [slice.error, recorded as Recorded];
    };
    const [more, surplus] = await call(0, { form: "server", messages: 2 });
    assert.equal(more, "the server sent 4 responses instead of 2");
    assert.equal(surplus.receives.length, 4);
    const [fewer] = await call(1, { form: "server", messages: 9 });
    assert.equal(fewer, "the server sent 4 responses instead of 9");
    const requests = [{ id: 1 }, { id: 2 }, { id: 0 }];
    const turns: Stream = { form: "bidirectional", messages: 4, in_turn: true };
    const [refused, { sends, receives }] = await call(2, turns, { requests });
    assert.match(refused as string, invalid);
    assert.deepEqual([sends.length, receives.length], [3, 2]);
    const [last] = await call(3, { form: "client", messages: 3 }, { requests });
    assert.match(last as string, invalid);
    const [timeout] = await call(4, { form: "server", messages: 1_000_000 }, { deadline_ms: 300 });
    assert.match(timeout as string, late);
    assert.equal(await up.end(), 0);
  });
}

test("a method streams only in its own form", async () => {
  const own = generated(join(CONTRACT, "proto"), "list.proto");
  const sample = { request: {}, response: { id: 3 } };
  const workload = { name: "own", descriptor_set: "", method: "ItemService/ListItems", ...sample };
  const server = { ...GRPC, role: "server", workload, listen: { transport: "tcp" } };
  const stream = (form: string) => ({ contract: 2, stream: { form, messages: 2 } });
  for (const stack of ["grpc-js", "connect-node"]) {
    for (const [more, why] of [
      [stream("client"), /ListItems is a server stream, not a client stream/],
      [{ contract: 1 }, /ListItems is a server stream, not unary/],
    ] as const) {
      const refused = new Subject(own);
      const reply = await refused.ask({ ...server, stack, ...more });
      assert.match(reply.error as string, why);
      assert.equal(await refused.end(), 2);
    }
    const up = new Subject(own);
    const { address } = await up.ask({ ...server, stack, ...stream("server") });
    const { listen: _, ...common } = server;
    const files = { records: join(temporary(), "r"), message_records: join(temporary(), "m") };
    const client = new Subject(own);
    const calling = { role: "client", stack, address, requests: [{}], deadline_ms: 10_000, ...files };
    await client.ask({ ...common, ...calling, ...stream("server") });
    const { verified } = await client.ask({ verify: true });
    assert.deepEqual(verified, { stream: [{ message: { id: 3 } }, { message: { id: 3 } }] });
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  }
});

test("a server in several processes streams", async () => {
  for (const stack of ["grpc-js", "connect-node"]) {
    const up = new Subject(messages);
    const stream: Stream = { form: "bidirectional", messages: 5 };
    const settings = { ...GRPC, stack, stream, listen: { transport: "tcp" }, threads: 2 };
    const { address } = await up.ask({ contract: 2, role: "server", ...settings });
    const addresses = [address, address] as string[];
    const [client] = await clientOf(stack, [stream, stream], addresses, { channels: 2, in_flight: 4 });
    const { slice } = (await client.ask({ slice: { skip: 0, calls: 20 } })) as { slice: Json };
    assert.deepEqual([slice.records, slice.error], [20, undefined]);
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  }
});
