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

import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { resolve } from "node:path";

import { schemas } from "../schemas.js";
import { googleProtobuf } from "./google-protobuf.js";
import { attempt, esFiles, main, write } from "./messages.js";
import { ofPackage, runPlugin } from "./plugin.js";
import { staticModule } from "./protobufjs.js";
import { transpile } from "./transpile.js";

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

await main(async (set) => {
  const { folder: messages, descriptors, generate } = set;
  const es = esFiles(set);
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
});
