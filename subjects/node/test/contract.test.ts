import assert from "node:assert/strict";
import { test } from "node:test";

import { parseAsk, parseSettings, type Settings } from "../src/contract.js";
import { Refused } from "../src/refused.js";
import { choose, STACKS } from "../src/stacks.js";

const SERVER = {
  contract: 1,
  role: "server",
  workload: { name: "hello" },
  protocol: "rest",
  http: "1.1",
  encoding: "json",
  listen: { transport: "tcp" },
};

function refused(act: () => unknown): [string, string] {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Refused, String(error));
    return [error.message, error.fault];
  }
  throw new Error("it is not refused");
}

const parsedParts = (line: unknown) => parseSettings(JSON.stringify(line));
const parsed = (line: unknown): Settings => parsedParts(line).parts[0] as Settings;

test("settings have the contract's defaults", () => {
  const settings = parsed(SERVER);
  assert.ok(settings.role === "server");
  assert.equal(settings.threads, 1);
  assert.equal(settings.marks, false);
  assert.equal(settings.response_compression, "none");
  assert.deepEqual(settings.listen, { transport: "tcp", host: "127.0.0.1", path: "" });
  assert.equal(settings.limits.max_message_bytes, 16 << 20);
});

test("a sample may be any JSON: some types have their own form", () => {
  const own = { name: "own", descriptor_set: "", method: "a.B/C", request: "1.5s", response: null };
  const common = { contract: 1, workload: own, encoding: "protobuf", records: "/r" };
  const codec = { ...common, role: "codec", sample: "request", message: "1.5s", operation: "encode" };
  assert.deepEqual((parsed(codec) as { message: unknown }).message, "1.5s");
  const { listen: _, ...calling } = { ...SERVER, ...common };
  const client = { ...calling, role: "client", address: "a:1", requests: [[1], null], deadline_ms: 1 };
  assert.deepEqual((parsed(client) as { requests: unknown }).requests, [[1], null]);
});

test("what JavaScript would lose of a sample is refused with the reason", () => {
  const codec = (message: string) => () =>
    parseSettings(
      `{"contract":1,"role":"codec","workload":{"name":"hello"},"encoding":"protobuf","records":"/r",` +
        `"sample":"request","operation":"encode","message":${message}}`,
    );
  const why = (message: string) => refused(codec(message));
  assert.match(why('{"d":[1,-0.0]}')[0], /the sample has a -0.0, which JSON.stringify writes as 0/);
  assert.match(why('{"m":{"__proto__":1}}')[0], /a key "__proto__", which sets the prototype/);
  assert.equal(why("-0")[1], "user");
  codec('{"a":0,"b":"-0","c":null}')();
});

test("parts have the settings of one, without its version and role", () => {
  const { contract, role, ...part } = SERVER;
  const servers = (...parts: unknown[]) => ({ contract, role: "servers", parts });
  const { role: one, parts } = parsedParts(servers(part, { ...part, stack: "fastify" }));
  assert.deepEqual([one, parts.map((part) => part.stack)], ["server", ["", "fastify"]]);
  assert.deepEqual(parts[0], parsed(SERVER));
  const cases: [object, RegExp][] = [
    [servers(part), /parts cannot have 1 elements/],
    [servers(...Array(65).fill(part)), /parts cannot have 65 elements/],
    [servers(part, { ...part, role }), /parts\[1\] has an unknown key "role"/],
    [servers({ ...part, contract }, part), /parts\[0\] has an unknown key "contract"/],
    [servers(part, 5), /parts\[1\] cannot be 5/],
    [{ ...servers(part, part), pace: 3 }, /unknown key "pace"/],
    [{ ...servers(), parts: part }, /parts cannot be {/],
    [{ ...servers(part, part), role: "clients" }, /parts\[0\] has an unknown key "listen"/],
    [{ ...servers(part, part), role: "server" }, /unknown key "parts"/],
    [{ ...servers(part, part), role: "codecs" }, /no role "codecs"/],
  ];
  for (const [line, why] of cases) {
    const [error, fault] = refused(() => parsedParts(line));
    assert.match(error, why);
    assert.equal(fault, "instrument");
  }
});

test("another version is refused before anything else", () => {
  const [error, fault] = refused(() => parsed({ contract: 3, role: "siesta", pace: 1 }));
  assert.match(error, /version 3; this subject supports 1 and 2/);
  assert.equal(fault, "instrument");
});

const STREAMING = {
  ...SERVER,
  contract: 2,
  stack: "grpc-js",
  workload: { name: "items" },
  protocol: "grpc",
  http: "2",
  encoding: "protobuf",
  stream: { form: "bidirectional", messages: 5, in_turn: true },
};

test("version 2 adds streams", () => {
  assert.deepEqual(parsed({ ...SERVER, contract: 2 }), parsed(SERVER));
  assert.deepEqual((parsed(STREAMING) as { stream: unknown }).stream, STREAMING.stream);
  const settings = parsed({ ...STREAMING, stream: { form: "server", messages: 1_000_000 } });
  assert.equal(settings.role !== "codec" && settings.stream?.in_turn, false);
  const { contract, role, ...part } = STREAMING;
  const servers = (version: number) => parsedParts({ contract: version, role: "servers", parts: [part, part] });
  assert.deepEqual(servers(contract).parts[1], parsed(STREAMING));
  const { listen: _, ...calling } = STREAMING;
  const client = { ...calling, role: "client", address: "a:1", requests: [{}], deadline_ms: 1, records: "/r" };
  const recorded = { ...client, message_records: "/m" };
  assert.equal((parsed(recorded) as { message_records: unknown }).message_records, "/m");
  const stream = (changed: object) => ({ ...STREAMING, stream: { ...STREAMING.stream, ...changed } });
  const cases: [() => unknown, RegExp][] = [
    [() => parsed({ ...STREAMING, contract: 1 }), /needs contract version 2, not 1/],
    [() => servers(1), /needs contract version 2, not 1/],
    [() => parsed(stream({ form: "both" })), /form cannot be "both"/],
    [() => parsed(stream({ form: "server" })), /cannot be in_turn/],
    [() => parsed(stream({ messages: 0 })), /messages cannot be 0/],
    [() => parsed(stream({ messages: 1_000_001 })), /messages cannot be 1000001/],
    [() => parsed(stream({ messages: 1.5 })), /messages cannot be 1.5/],
    [() => parsed(stream({ in_turn: 1 })), /in_turn cannot be 1/],
    [() => parsed(stream({ pace: 1 })), /unknown key "pace"/],
    [() => parsed({ ...STREAMING, stream: { form: "server" } }), /lacks "messages"/],
    [() => parsed({ ...STREAMING, marks: true }), /cannot have marks with a stream/],
    [() => parsed({ ...STREAMING, message_records: "/m" }), /unknown key "message_records"/],
    [() => parsed(client), /must have stream and message_records, or neither/],
    [() => parsed({ ...recorded, stream: undefined }), /must have stream and message_records, or neither/],
    [() => parsed({ ...recorded, message_records: "m" }), /not an absolute path/],
  ];
  for (const [act, why] of cases) {
    const [error, fault] = refused(act);
    assert.match(error, why);
    assert.equal(fault, "instrument");
  }
});

test("what a line may not have is refused with its name", () => {
  const cases: [object, RegExp][] = [
    [{ pace: 3 }, /unknown key "pace"/],
    [{ constructor: 3 }, /unknown key "constructor"/],
    [{ role: "siesta" }, /no role "siesta"/],
    [{ encoding: "semaphore" }, /encoding cannot be "semaphore"/],
    [{ threads: 0 }, /threads cannot be 0/],
    [{ threads: 1.5 }, /threads cannot be 1.5/],
    [{ marks: 1 }, /marks cannot be 1/],
    [{ response_compression: "gzip:0" }, /"gzip:0"/],
    [{ response_compression: "gzip:6:7" }, /"gzip:6:7"/],
    [{ limits: { max_depth: 101 } }, /max_depth cannot be 101/],
    [{ listen: { transport: "unix" } }, /must have a path/],
    [{ listen: { transport: "tcp", path: "/x" } }, /and TCP none/],
    [{ workload: [] }, /workload cannot be/],
    [{ workload: undefined }, /lacks "workload"/],
  ];
  for (const [changed, why] of cases) {
    assert.match(refused(() => parsed({ ...SERVER, ...changed }))[0], why);
  }
  assert.match(refused(() => parseSettings("[1]"))[0], /not a JSON object/);
  assert.match(refused(() => parseSettings("{"))[0], /not a JSON object/);
});

test("a stack that cannot do what is asked refuses it", () => {
  const cases: [object, RegExp][] = [
    [{ stack: "no-such" }, /no stack "no-such" is a server/],
    [{ stack: "fetch" }, /no stack "fetch" is a server/],
    [{ protocol: "grpc" }, /http has no protocol "grpc", only rest/],
    [{ response_compression: "zstd" }, /no compression "zstd"/],
    [{ limits: { max_depth: 5 } }, /no limit max_depth "5"/],
    [{ threads: 17 }, /no number of threads "17"/],
    [{ stack: "fastify", limits: { max_inflation: 5 } }, /no limit max_inflation "5"/],
    [{ stack: "connect-node", encoding: "protobuf" }, /connect-node has no protocol "rest", only grpc, connect/],
    [{ stack: "connect-node", encoding: "protobuf", protocol: "grpc" }, /no HTTP version "1.1", only 2/],
    [{ ...STREAMING, stream: { form: "sse", messages: 1 } }, /of the form "sse", only client, server, bidirectional/],
    [{ ...STREAMING, workload: { name: "hello" } }, /no streams of the workload "hello", only items, own/],
    [{ contract: 2, stream: STREAMING.stream }, /http has no streams over rest of the form "bidirectional"/],
    [{ contract: 2, stream: { form: "ndjson", messages: 1 } }, /http has no streams over rest of the form "ndjson"/],
    [{ ...STREAMING, stack: "connect-node", protocol: "connect" }, /no streams over connect of the form/],
  ];
  for (const [changed, why] of cases) {
    const [error, fault] = refused(() => choose(STACKS, parsed({ ...SERVER, ...changed })));
    assert.match(error, why);
    assert.equal(fault, "user");
  }
  assert.equal(choose(STACKS, parsed(SERVER)), "http");
});

test("lines after the settings ask for a proof or a slice", () => {
  const ask = (line: object, inBatches = false) => parseAsk(JSON.stringify(line), 2, inBatches);
  assert.deepEqual(ask({ verify: true }), { part: 0, verify: true });
  assert.deepEqual(ask({ part: 1, verify: true }), { part: 1, verify: true });
  const slice = { skip: 0, calls: 5, time_us: -1, batch: 0 };
  assert.deepEqual(ask({ slice: { skip: 0, calls: 5 } }), { part: 0, slice });
  assert.deepEqual(ask({ part: 1, slice: { skip: 0, calls: 5 } }), { part: 1, slice });
  assert.ok("slice" in ask({ slice: { skip: 1, time_us: 0 } }));
  assert.ok("slice" in ask({ slice: { skip: 1, calls: 1, batch: 4 } }, true));
  for (const [line, inBatches] of [
    [{}, false],
    [{ part: 1 }, false],
    [{ part: 2, verify: true }, false],
    [{ part: -1, verify: true }, false],
    [{ part: "1", verify: true }, false],
    [{ verify: false }, false],
    [{ verify: true, slice: { skip: 0, calls: 1 } }, false],
    [{ slice: { skip: 0 } }, false],
    [{ slice: { skip: 0, calls: 0 } }, false],
    [{ slice: { skip: 0, calls: 1, time_us: 1 } }, false],
    [{ slice: { skip: 0, calls: 1, pace: 3 } }, false],
    [{ slice: { skip: 0, calls: 1, batch: 4 } }, false],
    [{ slice: { skip: 0, calls: 1 } }, true],
  ] as const) {
    assert.equal(refused(() => ask(line, inBatches))[1], "instrument", JSON.stringify(line));
  }
});
