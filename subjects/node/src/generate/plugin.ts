/** Runs a protoc plugin that is a Node program, without protoc. */

import { spawn } from "node:child_process";
import { buffer } from "node:stream/consumers";
import { join } from "node:path";
import process from "node:process";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type CodeGeneratorResponse_File, CodeGeneratorRequestSchema, CodeGeneratorResponseSchema,
  type FileDescriptorSet,
} from "@bufbuild/protobuf/wkt";

/** The version of protoc that a plugin sees. Generators write it into comments only. */
const COMPILER = { major: 33, minor: 0, patch: 0 };

/** Returns the files that the plugin generates; an error has its own words. */
export async function runPlugin(
  program: string,
  parameter: string,
  descriptors: FileDescriptorSet,
  generate: string[],
): Promise<CodeGeneratorResponse_File[]> {
  const request = create(CodeGeneratorRequestSchema, {
    fileToGenerate: generate,
    parameter,
    protoFile: descriptors.file,
    sourceFileDescriptors: descriptors.file.filter((file) => generate.includes(file.name)),
    compilerVersion: COMPILER,
  });
  const plugin = spawn(process.execPath, [join("node_modules", program)], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((done, fail) => {
    plugin.on("error", fail);
    plugin.on("close", done);
  });
  // A plugin that ends early has said why.
  plugin.stdin.on("error", () => undefined);
  plugin.stdin.end(toBinary(CodeGeneratorRequestSchema, request));
  const [output, log, code] = await Promise.all([
    buffer(plugin.stdout),
    buffer(plugin.stderr),
    ended,
  ]);
  process.stderr.write(log);
  if (code !== 0) throw new Error(`${program} failed: ${log.toString().trim()}`);
  const response = fromBinary(CodeGeneratorResponseSchema, output);
  if (response.error) throw new Error(`${program}: ${response.error}`);
  return response.file;
}
