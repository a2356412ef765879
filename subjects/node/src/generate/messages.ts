/** The messages to generate code for, and their generated code. */

import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import process from "node:process";

import { create, fromBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto, FieldDescriptorProto_Label, FieldDescriptorProto_Type,
  FileDescriptorProtoSchema, type FileDescriptorSet, FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

import { FAILED } from "../generated.js";
import { oneLine } from "../refused.js";
import { ofPackage, runPlugin } from "./plugin.js";

/** A generated file, with its path within its folder. */
export interface GeneratedFile {
  name: string;
  content: string;
}

/** Messages for which to generate code. */
export interface MessageSet {
  /** The folder with `descriptors.binpb` and `files.json`, to which the code is written. */
  folder: string;
  descriptors: FileDescriptorSet;
  /** The names of the files to generate code for. */
  generate: string[];
}

/** Reads the messages in the folder, and lets their generated code import the libraries of this subject. */
export function read(folder: string): MessageSet {
  const descriptors = fromBinary(
    FileDescriptorSetSchema,
    readFileSync(join(folder, "descriptors.binpb")),
  );
  const { generate } = JSON.parse(readFileSync(join(folder, "files.json"), "utf8")) as {
    generate: string[];
  };
  writeFileSync(join(folder, "package.json"), '{"type":"module"}\n');
  link(resolve("node_modules"), join(folder, "node_modules"));

  if (!descriptors.file.some((file) => file.package === "rpcgauge")) {
    const added = hybrid();
    descriptors.file.push(added);
    generate.push(added.name);
  }
  return { folder, descriptors, generate };
}

const ES = "target=js+dts,import_extension=js,json_types=true";

/** The code of protobuf-es, with its TypeScript types of the messages and of their JSON. */
export function esFiles({ descriptors, generate }: MessageSet): Promise<GeneratedFile[]> {
  return runPlugin(ofPackage("@bufbuild/protoc-gen-es/bin/protoc-gen-es"), ES, descriptors, generate);
}

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

/** Writes all files of a generator to its folder. The folder is new, so it cannot contain links that lead elsewhere. */
export function write(folder: string, files: GeneratedFile[]): void {
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
export async function attempt(
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

/** Runs a generator with the only argument of this program: the folder of the messages. */
export async function main(generate: (set: MessageSet) => Promise<void>): Promise<void> {
  try {
    const [messages, ...others] = process.argv.slice(2);
    if (messages === undefined || others.length > 0) throw new Error("usage: main.js MESSAGES");
    await generate(read(messages));
  } catch (error) {
    process.stderr.write(`${oneLine(error)}\n`);
    process.exitCode = 1;
  }
}
