import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { test } from "node:test";

import { create, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

import { Es, GoogleProtobuf, ProtobufJs, TsProto } from "../src/generated.js";
import { fromSample } from "../src/plain.js";
import type { Json } from "../src/shape.js";
import type { Workload } from "../src/workloads.js";
import { generated, TARGET, temporary } from "./harness.js";

const PROTOS = resolve("test/protos");

const EVERYTHING = {
  kind: "in",
  kinds: ["A", "in", "KIND_UNSPECIFIED"],
  byId: { "5": {}, "-9007199254740993": { back: { kind: "A" }, raw: "AQID" } },
  named: { a: "A", constructor: "in" },
  flags: { true: "x", false: "y" },
  numberValue: "-9223372036854775808",
  at: "2020-01-02T03:04:05.000000007Z",
  struct: { a: [1, null, { b: true }] },
  wrapped: "9007199254740993",
  any: { "@type": "type.googleapis.com/Outer.Inner.Deep", raw: "AQ==" },
  took: "1.000000001s",
  mask: "aB,c.d",
  value: [null, 1],
  items: [1, "x"],
  wrappedBytes: "AA==",
  double: "-Infinity",
  float: "NaN",
  doubles: [0.1, "NaN"],
  int32: -5,
  int64: "-1",
  uint32: 4294967295,
  uint64: "18446744073709551615",
  sint32: -2147483648,
  sint64: "-9223372036854775808",
  fixed32: 4294967295,
  fixed64: "18446744073709551615",
  sfixed32: -1,
  sfixed64: "-1",
  bool: true,
  raw: "/+8=",
  raws: ["AA==", ""],
  longs: ["1", "-1", "9007199254740993"],
  maybe: 0,
  snakeCaseName: "s",
  CamelName: "c",
  Under: "u",
  aB: "ab",
};

const NAMES = { constructor: "c", default: "d", Proto: "5", toString: "t", hasOwnProperty: "h" };

const OLD = {
  old: {
    id: 0,
    name: "",
    item: [{ n: 1 }, { n: 0 }],
    color: "RED",
    packed: [1, 2],
    big: "-9007199254740993",
    "[dash.name.ext]": "e",
  },
};

const odd = generated(PROTOS, "odd-file.1.proto");
const es = await Es.load(odd);

function throughEs(typeName: string, sample: Json): Json {
  return es.fromBytes(typeName, es.toBytes(typeName, sample));
}

const samples: [string, Json][] = [
  ["Outer.Inner", EVERYTHING],
  ["Names", NAMES],
  ["google.protobuf.Empty", {}],
];

test("protobuf-es has code for odd messages", () => {
  for (const [typeName, sample] of [...samples, ["Container", OLD] as [string, Json]]) {
    assert.deepEqual(throughEs(typeName, sample), sample);
  }
});

test("ts-proto, protobufjs and google-protobuf read and write the same", async () => {
  // google-protobuf's own Int64Value contains a number, which loses digits.
  const narrow = samples.map(([name, sample]): [string, Json] =>
    [name, sample.wrapped === undefined ? sample : { ...sample, wrapped: "9007199254740991" }]);
  for (const [library, samplesOf] of [
    [await TsProto.load(odd), samples],
    [await ProtobufJs.load(odd), samples],
    [await GoogleProtobuf.load(odd), narrow],
  ] as const) {
    for (const [typeName, sample] of samplesOf) {
      const type = library.type(typeName);
      const written = type.encode(type.decode(es.toBytes(typeName, sample)));
      assert.deepEqual(es.fromBytes(typeName, written), sample);
    }
  }
});

test("a sample that a library cannot carry is refused with the library's name", async () => {
  const type = (await TsProto.load(odd)).type("Container");
  assert.throws(() => es.sample("ts-proto", type, "Container", OLD), /ts-proto would lose part of the sample/);
  assert.ok(es.sample("ts-proto", type, "Container", { old: { id: 1, color: "RED", packed: [1, 2] } }));
});

test("in google.protobuf only the well-known types have their own form", async () => {
  const folder = temporary();
  const source = `syntax = "proto3"; import "google/protobuf/descriptor.proto";
    message M { google.protobuf.UninterpretedOption option = 1; }`;
  writeFileSync(join(folder, "m.proto"), source);
  const own = { own: { request: {}, response: {} } } as Workload;
  const sample = { option: { positiveIntValue: "9007199254740993", stringValue: "AQ==" } };
  const native = fromSample(await Es.load(generated(folder, "m.proto")), own, "M", sample, "msgpack");
  const option = { positiveIntValue: 9007199254740993n, stringValue: Buffer.from([1]) };
  assert.deepEqual(native, { option });
});

test("protobufjs keeps what proto2 has", async () => {
  const type = (await ProtobufJs.load(odd)).type("Container");
  assert.deepEqual(es.fromBytes("Container", type.encode(type.decode(es.toBytes("Container", OLD)))), OLD);
});

test("methods are found by their path, whatever their names", async () => {
  assert.equal(es.method("/Deleter/class").name, "class");
  const library = await TsProto.load(odd);
  const called = { grpcPath: "/Deleter/class", request: "Names", response: "Outer.Inner" };
  const [name, method] = library.method(called);
  assert.equal(name, "class");
  assert.equal(method.path, "/Deleter/class");
  // For these, a service of ts-proto uses a string, a date, an array or an object.
  for (const known of ["StringValue", "Timestamp", "ListValue", "Struct", "Value", "FieldMask"]) {
    const response = `google.protobuf.${known}`;
    assert.throws(() => library.method({ ...called, response }), new RegExp(`ts-proto's .* ${response}`));
  }
  for (const known of ["Empty", "Any", "Duration"]) {
    assert.ok(library.method({ ...called, request: `google.protobuf.${known}` }));
  }
});

test("every set has the message of hybrid", () => {
  assert.deepEqual(throughEs("rpcgauge.Hybrid", { json: "{}" }), { json: "{}" });
});

test("TypeScript has interfaces for the messages and for their JSON", () => {
  const types = readFileSync(join(odd, "es", "odd-file.1_pb.d.ts"), "utf8");
  assert.match(types, /export declare type Outer_InnerJson = {/);
  assert.match(types, /export declare type Outer_Inner = Message<"Outer.Inner"> & {/);
});

test("JSON schemas have 64-bit integers as numbers", () => {
  const text = readFileSync(join(odd, "schemas", "messages.json"), "utf8");
  const { definitions } = JSON.parse(text) as {
    definitions: Record<string, { properties: Record<string, Json> }>;
  };
  const fields = definitions["Outer.Inner"]?.properties;
  assert.deepEqual(fields?.int64, { type: "integer" });
  assert.deepEqual(fields?.longs, { type: "array", items: { type: "integer" } });
  assert.deepEqual(fields?.byId?.additionalProperties, {
    $ref: "messages#/definitions/Outer.Inner.Deep",
  });
  assert.deepEqual(fields?.at, { $ref: "messages#/definitions/google.protobuf.Timestamp" });
  assert.deepEqual(definitions["google.protobuf.Timestamp"], { type: "string" });
});

test("a generator that fails leaves the others their code, and its words", async () => {
  const messages = generated(PROTOS, "reserved.proto");
  const loaded = await Es.load(messages);
  assert.deepEqual(loaded.fromBytes("function", loaded.toBytes("function", { text: "x" })), { text: "x" });
  assert.ok((await ProtobufJs.load(messages)).type("function"));
  await assert.rejects(TsProto.load(messages), /ts-proto: reserved.ts:\d+: the generated code is wrong/);
  assert.ok(!existsSync(join(messages, "ts-proto/reserved.js")));
});

/** A set with a single file without messages, whose name has not been checked. */
function named(name: string): string {
  const messages = join(temporary(), "one", "set");
  mkdirSync(messages, { recursive: true });
  const file = create(FileDescriptorProtoSchema, { name, syntax: "proto3", messageType: [{ name: "M" }] });
  const set = create(FileDescriptorSetSchema, { file: [file] });
  writeFileSync(join(messages, "descriptors.binpb"), toBinary(FileDescriptorSetSchema, set));
  writeFileSync(join(messages, "files.json"), JSON.stringify({ generate: [name], methods: [] }));
  return messages;
}

test("a file that google-protobuf cannot have is refused with its name", async () => {
  const messages = named("google/protobuf/extra.proto");
  spawnSync(process.execPath, [join(TARGET, "generate/main.js"), messages]);
  const words = /google-protobuf: protoc-gen-js takes google\/protobuf\/extra.proto for a file of its library/;
  await assert.rejects(GoogleProtobuf.load(messages), words);
});

test("no file is written outside of the folder of its generator", () => {
  for (const name of ["../outside.proto", "../../outside.proto", "a/../../../outside.proto"]) {
    const messages = named(name);
    const generator = spawnSync(process.execPath, [join(TARGET, "generate/main.js"), messages]);
    assert.equal(generator.status, 1, name);
    assert.match(generator.stderr.toString(), /outside_pb.* would be written outside of /, name);
    const written = readdirSync(dirname(dirname(messages)), { recursive: true, encoding: "utf8" });
    assert.deepEqual(written.filter((each) => each.includes("outside_pb")), [], name);
  }
});

test("no link in the folder of a generator leads out of it", () => {
  const [messages, elsewhere] = [named("sub/a.proto"), temporary()];
  mkdirSync(join(messages, "es"));
  symlinkSync(elsewhere, join(messages, "es", "sub"));
  execFileSync(process.execPath, [join(TARGET, "generate/main.js"), messages]);
  assert.deepEqual(readdirSync(elsewhere), []);
  assert.ok(existsSync(join(messages, "es", "sub", "a_pb.js")));
});
