/**
 * Generates the code for a set of messages: `node target/generate/main.js MESSAGES`, in the folder in which the subject
 * was built. MESSAGES contains `descriptors.binpb` and `files.json`. The generated code is written to
 *
 * - `es/`: protobuf-es, with its TypeScript types of the messages and of their JSON
 * - `ts-proto/`: ts-proto, with services for grpc-js
 * - `protobufjs/`: protobufjs' static module
 * - `google-protobuf/`: google-protobuf, if there is a `protoc-gen-js`
 * - `schemas/`: JSON schemas of the messages' JSON, for Fastify
 */

import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import process from "node:process";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto, FieldDescriptorProto_Label, FieldDescriptorProto_Type,
  FileDescriptorProtoSchema, FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

import { FAILED } from "../generated.js";
import { oneLine } from "../refused.js";
import { schemas } from "../schemas.js";
import { googleProtobuf } from "./google-protobuf.js";
import { ofPackage, runPlugin } from "./plugin.js";
import { staticModule } from "./protobufjs.js";
import { type GeneratedFile, transpile } from "./transpile.js";

const ES = "target=js+dts,import_extension=js,json_types=true";

/**
 * Supports messages with any content: 64-bit integers are bigint, because a number would lose digits, and times are
 * messages, because a Date would lose nanoseconds.
 */
const TS_PROTO = [
  "outputServices=grpc-js",
  "forceLong=bigint",
  "useDate=false",
  "env=node",
  "esModuleInterop=true",
  "importSuffix=.js",
  "outputJsonMethods=false",
  "outputTypeAnnotations=static-only",
].join(",");


/** `contract/proto/hybrid.proto`, for the encoding `hybrid`: its message wraps any other message. */
function hybrid(): FileDescriptorProto {
  const json = {
    name: "json",
    jsonName: "json",
    number: 1,
    label: FieldDescriptorProto_Label.OPTIONAL,
    type: FieldDescriptorProto_Type.STRING,
  };
  return create(FileDescriptorProtoSchema, {
    name: "rpcgauge/hybrid.proto",
    package: "rpcgauge",
    messageType: [{ name: "Hybrid", field: [json] }],
    syntax: "proto3",
  });
}

async function main(messages: string): Promise<void> {
  const descriptors = fromBinary(
    FileDescriptorSetSchema,
    readFileSync(join(messages, "descriptors.binpb")),
  );
  const { generate } = JSON.parse(readFileSync(join(messages, "files.json"), "utf8")) as {
    generate: string[];
  };
  writeFileSync(join(messages, "package.json"), '{"type":"module"}\n');
  link(resolve("node_modules"), join(messages, "node_modules"));

  if (!descriptors.file.some((file) => file.package === "rpcgauge")) {
    const added = hybrid();
    descriptors.file.push(added);
    generate.push(added.name);
  }
  const plugin = ofPackage("@bufbuild/protoc-gen-es/bin/protoc-gen-es");
  const es = runPlugin(plugin, ES, descriptors, generate);
  const others = Promise.all([
    attempt("ts-proto", async () => {
      const plugin = ofPackage("ts-proto/protoc-gen-ts_proto");
      return transpile(await runPlugin(plugin, TS_PROTO, descriptors, generate));
    }),
    attempt("protobufjs", async () => {
      const content = await staticModule(toBinary(FileDescriptorSetSchema, descriptors));
      return [{ name: "messages.js", content }];
    }),
    attempt("google-protobuf", () => googleProtobuf(descriptors, generate)),
  ]);
  const ofMessages = { name: "messages.json", content: JSON.stringify(schemas(descriptors)) };
  write(resolve(messages, "schemas"), [ofMessages]);
  write(resolve(messages, "es"), await es);
  for (const { folder, files } of await others) write(resolve(messages, folder), files);
}

/** Writes all files of a generator to its folder. The folder is new, so it cannot contain links that lead elsewhere. */
function write(folder: string, files: GeneratedFile[]): void {
  rmSync(folder, { recursive: true, force: true });
  for (const { name, content } of files) {
    const path = join(folder, name);
    if (!path.startsWith(folder + sep)) throw new Error(`${name} would be written outside of ${folder}`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

/**
 * If a generator fails, its error is written in place of its code, so that the stacks of the other generators still
 * work. All stacks need protobuf-es, which reads the samples.
 */
async function attempt(
  folder: string,
  generate: () => Promise<GeneratedFile[]>,
): Promise<{ folder: string; files: GeneratedFile[] }> {
  try {
    return { folder, files: await generate() };
  } catch (error) {
    const content = `${folder}: ${oneLine(error)}\n`;
    process.stderr.write(content);
    return { folder, files: [{ name: FAILED, content }] };
  }
}

/** Links a folder, so that the generated code imports its libraries from the subject's node_modules. */
function link(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

try {
  const [messages, ...others] = process.argv.slice(2);
  if (messages === undefined || others.length > 0) throw new Error("usage: main.js MESSAGES");
  await main(messages);
} catch (error) {
  process.stderr.write(`${oneLine(error)}\n`);
  process.exitCode = 1;
}
