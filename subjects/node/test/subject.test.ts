import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

import { RECORD_BYTES } from "../src/slices.js";
import type { Json } from "../src/shape.js";
import { BUILT_IN, CONTRACT, generated, Relay, Subject, temporary } from "./harness.js";

const JSON_1 = { protocol: "rest", http: "1.1", encoding: "json" };
const GRPC = { protocol: "grpc", http: "2", encoding: "protobuf" };
const CONNECT_1 = { protocol: "connect", http: "1.1", encoding: "protobuf" };
const CONNECT_2 = { protocol: "connect", http: "2", encoding: "protojson" };
const HYBRID = { ...GRPC, encoding: "hybrid" };
/** Servers with clients that can call them. */
const PAIRS = [
  ["http", "http", JSON_1],
  ["fastify", "fetch", JSON_1],
  ["grpc-js", "grpc-js", GRPC],
  ["grpc-js", "grpc-js-gzip", HYBRID],
  ["connect-node", "connect-node", GRPC],
  ["connect-node", "connect-node", CONNECT_1],
  ["connect-node", "connect-node", CONNECT_2],
  ["grpc-js", "connect-node", GRPC],
  ["connect-node", "grpc-js-gzip", GRPC],
] as const;

const messages = generated(join(CONTRACT, "proto"), ...BUILT_IN);
const hello = { contract: 1, workload: { name: "hello" } };

async function server(stack: string, way: Json, more: Json = {}): Promise<[Subject, string]> {
  const subject = new Subject(messages);
  const settings = { ...hello, ...way, role: "server", stack, listen: { transport: "tcp" }, ...more };
  const ready = await subject.ask(settings);
  assert.equal(ready.ready, true, JSON.stringify(ready));
  return [subject, ready.address as string];
}

function clientLine(stack: string, way: Json, address: string, records: string, more: Json = {}): Json {
  const requests = [{ name: "a" }, { name: "bbb" }];
  const common = { ...hello, ...way, role: "client", stack, address, records, requests };
  return { ...common, deadline_ms: 10_000, ...more };
}

for (const [serving, calling, way] of PAIRS) {
  test(`${calling} calls ${serving}, with marks and several calls in flight`, async () => {
    const [up, address] = await server(serving, way, { marks: true });
    const records = join(temporary(), "records");
    const client = new Subject(messages);
    const more = { marks: true, in_flight: 3 };
    const ready = await client.ask(clientLine(calling, way, address, records, more));
    assert.equal(ready.ready, true, JSON.stringify(ready));
    const proof = await client.ask({ verify: true });
    assert.deepEqual(proof, { verified: { message: { message: "Hello, a." } } });
    const { slice } = (await client.ask({ slice: { skip: 2, calls: 7 } })) as { slice: Json };
    assert.equal(slice.records, 7);
    assert.equal(slice.error, undefined);
    assert.equal(slice.reopened, undefined);
    const bytes = readFileSync(records);
    assert.equal(bytes.length, 7 * RECORD_BYTES);
    for (let at = 0; at < bytes.length; at += RECORD_BYTES) {
      const times = Array.from({ length: 8 }, (_, index) => bytes.readBigUInt64LE(at + 8 * index));
      const [begin, , , , , end, start, finish] = times as [bigint, ...bigint[]];
      const observed = times.slice(0, 6).filter((time) => time > 0n);
      assert.deepEqual(observed, [...observed].sort((a, b) => (a < b ? -1 : 1)));
      assert.ok(begin > 0n && (begin as bigint) < (start as bigint));
      assert.ok((start as bigint) <= (finish as bigint) && (finish as bigint) < (end as bigint));
      assert.equal(bytes.readUInt32LE(at + 72), 0);
    }
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  });
}

for (const [serving, calling, way] of PAIRS) {
  test(`${calling} opens connections again that were lost`, async () => {
    const [up, address] = await server(serving, way);
    const relay = await Relay.to(address);
    const client = new Subject(messages);
    const records = join(temporary(), "records");
    await client.ask(clientLine(calling, way, relay.address, records, { in_flight: 2 }));
    await client.ask({ slice: { skip: 0, calls: 6 } });
    const had = relay.accepted;
    assert.equal(had, way.http === "2" ? 1 : 2);
    await relay.cut();
    const { slice } = (await client.ask({ slice: { skip: 0, calls: 6 } })) as { slice: Json };
    assert.equal(slice.reopened, had);
    assert.equal(slice.error, undefined);
    assert.equal(relay.accepted, 2 * had);
    await relay.cut();
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  });

  test(`${calling} can open a connection for each call`, async () => {
    const [up, address] = await server(serving, way);
    const relay = await Relay.to(address);
    const client = new Subject(messages);
    const records = join(temporary(), "records");
    const more = { connection: "per-call" };
    await client.ask(clientLine(calling, way, relay.address, records, more));
    const { slice } = (await client.ask({ slice: { skip: 2, calls: 3 } })) as { slice: Json };
    assert.equal(slice.error, undefined);
    assert.equal(relay.accepted, 5);
    await relay.cut();
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  });
}

for (const [serving, calling, way] of PAIRS.filter(([, , { http }]) => http === "2")) {
  test(`${calling} has a connection for each of its channels`, async () => {
    const [up, address] = await server(serving, way);
    const relay = await Relay.to(address);
    const client = new Subject(messages);
    const records = join(temporary(), "records");
    await client.ask(clientLine(calling, way, relay.address, records, { channels: 3 }));
    await client.ask({ slice: { skip: 0, calls: 6 } });
    assert.equal(relay.accepted, 3);
    await relay.cut();
    const { slice } = (await client.ask({ slice: { skip: 0, calls: 6 } })) as { slice: Json };
    assert.deepEqual([slice.reopened, slice.error], [3, undefined]);
    await relay.cut();
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  });
}

test("one process serves in all ways, and one calls them all", async () => {
  const up = new Subject(messages);
  const { contract, ...workload } = hello;
  const listen = { transport: "tcp" };
  const serving = PAIRS.map(([stack, , way]) => ({ ...workload, ...way, stack, listen }));
  const ready = await up.ask({ contract, role: "servers", parts: serving });
  const said = ready.parts as Json[];
  assert.equal(said.length, PAIRS.length, JSON.stringify(ready));
  assert.deepEqual(said.map(({ code }) => code).slice(0, 3), [undefined, "generated", "generated"]);
  const versions = Object.keys(ready.versions as Json);
  for (const name of ["node", "fastify", "@grpc/grpc-js"]) assert.ok(versions.includes(name));
  const relays = await Promise.all(said.map(({ address }) => Relay.to(address as string)));
  // The last part appears twice with the same address; the two must not share a connection.
  const calls = PAIRS.map((pair, at) => [pair, relays[at] as Relay] as const);
  calls.push(calls.at(-1) as (typeof calls)[number]);
  const files = calls.map((_, at) => join(temporary(), `records-${at}`));
  const client = new Subject(messages);
  const calling = calls.map(([[, stack, way], relay], at) => {
    const line = clientLine(stack, way, relay.address, files[at] as string);
    const { contract: _, role: __, ...part } = line;
    return part;
  });
  const called = await client.ask({ contract, role: "clients", parts: calling });
  assert.equal((called.parts as Json[]).length, calling.length, JSON.stringify(called));
  const connections = () => relays.map((relay) => relay.accepted);
  const each = PAIRS.map((_, at) => (at === PAIRS.length - 1 ? 2 : 1));
  assert.deepEqual(connections(), each);
  for (const round of [1, 2]) {
    for (const [part, file] of files.entries()) {
      const proof = await client.ask({ part, verify: true });
      assert.deepEqual(proof, { verified: { message: { message: "Hello, a." } } });
      const { slice } = (await client.ask({ part, slice: { skip: 1, calls: 3 } })) as { slice: Json };
      assert.deepEqual([slice.records, slice.error, slice.reopened], [3, undefined, undefined]);
      assert.equal(statSync(file).size, round * 3 * RECORD_BYTES);
    }
  }
  assert.deepEqual(connections(), each);
  const reply = await client.ask({ part: files.length, verify: true });
  assert.equal(reply.fault, "instrument", JSON.stringify(reply));
  assert.deepEqual([await client.end(), await up.end()], [2, 0]);
});

test("parts that one process cannot have together are refused, and leave no socket", async () => {
  const path = join(temporary(), "socket");
  const { contract, ...workload } = hello;
  const part = { ...workload, ...JSON_1, listen: { transport: "unix", path } };
  for (const [more, fault, why] of [
    [{ threads: 2 }, "user", /parts share a process only with 1 thread/],
    [{ stack: "fetch" }, "user", /no stack "fetch" is a server/],
    [{}, "machine", /cannot listen on .*socket/],
  ] as const) {
    const refused = new Subject(messages);
    const reply = await refused.ask({ contract, role: "servers", parts: [part, { ...part, ...more }] });
    assert.equal(reply.fault, fault, JSON.stringify(reply));
    assert.match(reply.error as string, why);
    assert.equal(await refused.end(), fault === "user" ? 2 : 3);
    assert.ok(!existsSync(path));
  }
});

test("a server in several processes answers, and ends with all of them", async () => {
  const [up, address] = await server("http", JSON_1, { threads: 2 });
  for (const name of ["x", "y", "z"]) {
    const body = JSON.stringify({ name });
    const headers = { "content-type": "application/json", connection: "close" };
    const response = await fetch(`http://${address}/hello`, { method: "POST", headers, body });
    assert.deepEqual(await response.json(), { message: `Hello, ${name}.` });
  }
  assert.equal(await up.end(), 0);
  await assert.rejects(fetch(`http://${address}/hello`));
});

test("HTTP requests that have no answer are refused with their status", async () => {
  for (const stack of ["http", "fastify"]) {
    const more = { workload: { name: "list", n: 2 }, limits: { max_message_bytes: 100 } };
    const [up, address] = await server(stack, JSON_1, more);
    const call = async (body: string, type = "application/json", path = "/example/list") => {
      const headers = { "content-type": type };
      const url = `http://${address}${path}`;
      return (await fetch(url, { method: "POST", headers, body })).status;
    };
    assert.equal(await call('{"id":2}'), 200);
    assert.equal(await call('{"id":"2"}'), 200);
    assert.equal(await call('{"id":-1}'), 400);
    assert.equal(await call('{"id":100001}'), 400);
    assert.equal(await call('{"id":1.5}'), 400);
    assert.equal(await call("[1"), 400);
    assert.equal(await call('{"id":2}', "text/css"), 415);
    assert.equal(await call('{"id":2}', "application/json", "/other"), 404);
    assert.equal(await call(" ".repeat(200)), 413);
    assert.equal(await up.end(), 0);
  }
});

test("items responds with the item of the golden samples, and refuses an id without one", async () => {
  const { response } = JSON.parse(readFileSync(join(CONTRACT, "golden/items.json"), "utf8")) as {
    response: Record<string, string>;
  };
  for (const stack of ["http", "fastify"]) {
    const [up, address] = await server(stack, JSON_1, { workload: { name: "items" } });
    const call = (id: number) => {
      const headers = { "content-type": "application/json" };
      return fetch(`http://${address}/items`, { method: "POST", headers, body: JSON.stringify({ id }) });
    };
    assert.equal(await (await call(1)).text(), response.json, stack);
    assert.equal((await call(100_000)).status, 200);
    for (const id of [0, -1, 100_001]) assert.equal((await call(id)).status, 400);
    assert.equal(await up.end(), 0);
  }
  for (const [serving, calling, way] of PAIRS.filter(([, , { protocol }]) => protocol !== "rest")) {
    const [up, address] = await server(serving, way, { workload: { name: "items" } });
    const client = new Subject(messages);
    const more = { workload: { name: "items" }, requests: [{ id: 1 }, { id: 0 }] };
    await client.ask(clientLine(calling, way, address, join(temporary(), "records"), more));
    const { verified } = await client.ask({ verify: true });
    const long = way.encoding === "hybrid" ? 1 : "1";
    const golden = JSON.parse(response.json as string) as { message: Json };
    const message = { ...golden, message: { ...golden.message, long } };
    assert.deepEqual(verified, { message }, `${calling} calls ${serving}`);
    const { slice } = (await client.ask({ slice: { skip: 0, calls: 2 } })) as { slice: Json };
    // The client of grpc-js does not decode the colon in the status of other servers.
    assert.match(slice.error as string, /invalid.argument.* id is 0.* it must be 1 to 100000/i);
    assert.deepEqual([await client.end(), await up.end()], [0, 0]);
  }
});

test("a client that cannot connect says so, and whose fault it is", async () => {
  for (const [, stack, way] of PAIRS) {
    const client = new Subject(messages);
    const more = { deadline_ms: 300 };
    const records = join(temporary(), "records");
    const reply = await client.ask(clientLine(stack, way, "unix:/none/socket", records, more));
    assert.equal(reply.fault, "machine", JSON.stringify(reply));
    assert.match(reply.error as string, /cannot connect to unix:\/none\/socket/);
    assert.equal(await client.end(), 3);
    assert.equal(statSync(records).size, 0);
  }
});

test("a stack without code for the messages refuses with its generator's words", async () => {
  const reserved = generated(resolve("test/protos"), "reserved.proto");
  const own = { name: "own", descriptor_set: "", method: "Deleter/Call", request: {}, response: { text: "x" } };
  const listen = { transport: "tcp" };
  const refused = new Subject(reserved);
  const line = { contract: 1, role: "server", workload: own, listen };
  const reply = await refused.ask({ ...line, ...GRPC, stack: "grpc-js" });
  assert.match(reply.error as string, /ts-proto: reserved.ts:\d+: the generated code is wrong/);
  assert.equal(await refused.end(), 2);
  const up = new Subject(reserved);
  assert.equal((await up.ask({ ...line, ...GRPC, stack: "connect-node" })).ready, true);
  assert.equal(await up.end(), 0);
});

test("a sample is the same in each of its forms, and refused where it does not fit", async () => {
  const ask = async (message: Json): Promise<Json> => {
    const codec = new Subject(messages);
    const asked = { role: "codec", stack: "json", encoding: "json", operation: "encode" };
    const records = join(temporary(), "records");
    const workload = { name: "profile" };
    const line = { ...hello, ...asked, workload, sample: "request", message, records };
    const ready = await codec.ask(line);
    return ready.ready === true ? codec.ask({ verify: true }) : ready;
  };
  const bytes = Buffer.from('{"userId":5}').toString("base64");
  for (const message of [{ userId: 5 }, { userId: "5" }]) {
    assert.deepEqual(await ask(message), { verified: { bytes } });
  }
  for (const message of [{ userId: "five" }, { user: 5 }, { userId: [5] }]) {
    assert.equal((await ask(message)).fault, "user", JSON.stringify(message));
  }
});
