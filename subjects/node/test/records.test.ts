import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { MessageRecords, MessageTimes } from "../src/message-records.js";
import { NOT_KNOWN, RECORD_BYTES, Records, Stamps } from "../src/slices.js";
import { CONTRACT } from "./harness.js";

type Means = Record<string, number>;
const golden = JSON.parse(readFileSync(join(CONTRACT, "golden/calls.json"), "utf8")) as {
  records: { what: string; hex: string; means: Means }[];
};

function stampsOf(means: Means): Stamps {
  const time = (name: string) => BigInt(means[name] ?? 0);
  return Object.assign(new Stamps(), {
    begin: time("begin"),
    encoded: time("encoded"),
    sent: time("sent"),
    first: time("first byte"),
    received: time("received"),
    end: time("end"),
    handlerStart: time("handler start"),
    handlerEnd: time("handler end"),
    requestBytes: means["request bytes"] ?? NOT_KNOWN,
    responseBytes: means["response bytes"] ?? NOT_KNOWN,
  });
}

test("records are the contract's bytes", () => {
  assert.ok(golden.records.length > 0);
  for (const { what, hex, means } of golden.records) {
    const records = new Records();
    records.add(stampsOf(means), means.status === 1, means.operations as number);
    assert.equal(Buffer.from(records.take()).toString("hex"), hex, what);
  }
});

test("more records than there is room for keep their order", () => {
  const records = new Records();
  const count = 5000;
  for (let round = 0; round < 2; round += 1) {
    for (let call = 1; call <= count; call += 1) {
      records.add(Object.assign(new Stamps(), { begin: BigInt(call) }), false, call);
    }
    const bytes = Buffer.from(records.take());
    assert.equal(bytes.length, count * RECORD_BYTES);
    for (let call = 1; call <= count; call += 1) {
      assert.equal(bytes.readBigUInt64LE((call - 1) * RECORD_BYTES), BigInt(call));
      assert.equal(bytes.readUInt32LE((call - 1) * RECORD_BYTES + 76), call);
    }
    assert.equal(records.count, 0);
  }
});

/** Returns the records of messages of a call with the given times. */
function recordsOf(sent: number[], received: number[], capacity: number): [MessageTimes, string] {
  const times = new MessageTimes(capacity);
  for (const time of sent) times.addSent(BigInt(time));
  for (const time of received) times.addReceived(BigInt(time));
  const records = new MessageRecords();
  records.add(times);
  return [times, Buffer.from(records.take()).toString("hex")];
}

test("records of messages have both times of each, and 0 for a message that there is not", () => {
  const word = (time: number) => Buffer.from(BigUint64Array.of(BigInt(time)).buffer).toString("hex");
  const hex = (...words: number[]) => words.map(word).join("");
  assert.equal(recordsOf([1, 2], [3, 0xabcdef], 2)[1], hex(1, 3, 2, 0xabcdef));
  assert.equal(recordsOf([1], [2, 3], 2)[1], hex(1, 2, 0, 3));
  assert.equal(recordsOf([1, 2], [], 5)[1], hex(1, 0, 2, 0));
  // More messages than expected.
  assert.equal(recordsOf([1], [2, 3, 4], 1)[1], hex(1, 2, 0, 3, 0, 4));
  const [times] = recordsOf([1, 2], [3], 2);
  times.clear();
  times.addReceived(9n);
  assert.deepEqual([...times.records], [0n, 9n]);
});

test("more records of messages than there is room for keep their order", () => {
  const records = new MessageRecords();
  const times = new MessageTimes(700);
  for (let message = 1; message <= 700; message += 1) times.addReceived(BigInt(message));
  for (let call = 0; call < 5; call += 1) records.add(times);
  const words = new BigUint64Array(Uint8Array.from(records.take()).buffer);
  assert.equal(words.length, 2 * 5 * 700);
  words.forEach((word, at) => {
    assert.equal(word, at % 2 === 0 ? 0n : BigInt(((at - 1) / 2) % 700 + 1));
  });
  assert.equal(records.take().length, 0);
});
