import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
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
/** Servers, and clients that call them. */
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
