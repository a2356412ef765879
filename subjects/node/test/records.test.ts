import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

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
