/** Runs a protoc plugin without protoc. */

import { spawn } from "node:child_process";
import { buffer } from "node:stream/consumers";
import { join } from "node:path";
import process from "node:process";

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema, type CodeGeneratorResponse, type CodeGeneratorResponse_File,
  CodeGeneratorResponse_Feature, CodeGeneratorResponseSchema, Edition, type FileDescriptorProto,
  type FileDescriptorSet,
} from "@bufbuild/protobuf/wkt";

/** The version of protoc that a plugin sees. Generators only write it in comments. */
const COMPILER = { major: 33, minor: 0, patch: 0 };

const SUPPORTS_EDITIONS = BigInt(CodeGeneratorResponse_Feature.SUPPORTS_EDITIONS);

/** A plugin that is a Node program in an installed package. */
export function ofPackage(program: string): Plugin {
  return { program, command: process.execPath, args: [join("node_modules", program)] };
}

/** A plugin that is a program on the PATH. */
export function installed(program: string): Plugin {
  return { program, command: program, args: [] };
}

interface Plugin {
  program: string;
  command: string;
  args: string[];
}

/** Returns the files that the plugin generates; an error has the plugin's own text. */
export async function runPlugin(
  { program, command, args }: Plugin,
  parameter: string,
  descriptors: FileDescriptorSet,
  generate: string[],
): Promise<CodeGeneratorResponse_File[]> {
  const files = descriptors.file.filter((file) => generate.includes(file.name));
  const request = create(CodeGeneratorRequestSchema, {
    fileToGenerate: generate,
    parameter,
    protoFile: descriptors.file,
    sourceFileDescriptors: files,
    compilerVersion: COMPILER,
  });
  const plugin = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  const ended = new Promise<number | null>((done, fail) => {
    plugin.on("error", fail);
    plugin.on("close", done);
  });
  // A plugin that exits early has reported the reason.
  plugin.stdin.on("error", () => undefined);
  plugin.stdin.end(toBinary(CodeGeneratorRequestSchema, request));
  const [output, log, code] = await Promise.all([
    buffer(plugin.stdout),
    buffer(plugin.stderr),
    ended,
  ]);
  process.stderr.write(log);
  if (code !== 0) {
    const said = log.toString().trim();
    // Node prints the place where an error was thrown before and after the error's text.
    throw new Error(`${program} failed: ${/^\w*Error: (.*)$/m.exec(said)?.[1] ?? said}`);
  }
  const response = fromBinary(CodeGeneratorResponseSchema, output);
  if (response.error) throw new Error(`${program}: ${response.error}`);
  for (const file of files) checkEdition(program, response, file);
  return response.file;
}

/** Checks the edition, as protoc does: a plugin without support for editions would treat the file as proto2. */
function checkEdition(
  program: string,
  { supportedFeatures, minimumEdition, maximumEdition }: CodeGeneratorResponse,
  { name, syntax, edition }: FileDescriptorProto,
): void {
  if (syntax !== "editions") return;
  const knows = (supportedFeatures & SUPPORTS_EDITIONS) !== 0n;
  if (knows && minimumEdition <= edition && edition <= maximumEdition) return;
  throw new Error(`${name}: ${program} does not support ${Edition[edition] ?? `edition ${edition}`}`);
}
