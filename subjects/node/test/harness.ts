/** Generates code for sets of messages, and runs the subject in the same way as the lab. */

import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { after } from "node:test";

import { createFileRegistry, type DescMethod, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

import type { Json } from "../src/shape.js";

/** The subject's folder, in which the tests run. */
const HERE = resolve(".");
export const CONTRACT = resolve("../../contract");
export const TARGET = join(HERE, "target/test/src");

export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "rpcgauge-node-"));
  after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The forms of methods that stream. */
const FORMS: Record<DescMethod["methodKind"], string | undefined> = {
  unary: undefined,
  client_streaming: "client",
  server_streaming: "server",
  bidi_streaming: "bidirectional",
};

/** Creates a folder with a set of messages, as the lab does, and generates their code. */
export function generated(protos: string, ...files: string[]): string {
  const messages = temporary();
  const binary = join(messages, "descriptors.binpb");
  const command = ["--include_imports", `--descriptor_set_out=${binary}`, "-I", protos, ...files];
  execFileSync("protoc", command, { stdio: ["ignore", "inherit", "inherit"] });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(binary)));
  const names = [...registry.files].map((file) => file.proto.name);
  const methods = [...registry].flatMap((type) => (type.kind === "service" ? type.methods : []));
  const list = {
    generate: names.filter((name) => !name.startsWith("google/protobuf/")),
    methods: methods.map((method) => ({
      path: `/${method.parent.typeName}/${method.name}`,
      request: method.input.typeName,
      response: method.output.typeName,
      stream: FORMS[method.methodKind],
    })),
  };
  writeFileSync(join(messages, "files.json"), JSON.stringify(list));
  const generator = join(TARGET, "generate/main.js");
  execFileSync(process.execPath, [generator, messages], { stdio: ["ignore", "inherit", "ignore"] });
  return messages;
}

export const BUILT_IN = [
  "followers.proto", "hello.proto", "list.proto", "profile.proto", "records.proto", "several.proto",
];

/** A running subject. */
export class Subject {
  private readonly process: ChildProcessWithoutNullStreams;
  private readonly lines: AsyncIterator<string>;

  constructor(messages: string) {
    this.process = spawn(process.execPath, [join(TARGET, "main.js"), "--messages", messages]);
    this.process.stderr.pipe(process.stderr);
    // Needed only if a test fails.
    after(() => this.process.kill("SIGKILL"));
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  async ask(line: Json): Promise<Json> {
    this.process.stdin.write(`${JSON.stringify(line)}\n`);
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the subject exited without a line");
    return JSON.parse(value as string) as Json;
  }

  /** Closes the subject's input, and returns its exit code. */
  async end(): Promise<number> {
    const ended = new Promise<number>((done) => this.process.once("close", (code) => done(code ?? -1)));
    this.process.stdin.end();
    return ended;
  }
}

/** A proxy between a client and a server that counts connections and can close them. */
export class Relay {
  accepted = 0;
  private readonly open = new Set<Socket>();
  private constructor(readonly address: string) {}

  static async to(address: string): Promise<Relay> {
    const [host, port] = address.split(":") as [string, string];
    const server = createServer((client) => {
      relay.accepted += 1;
      const upstream = connect({ host, port: Number(port), noDelay: true });
      for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
        relay.open.add(from);
        from.pipe(to);
        // Closes the other side too.
        from.on("error", () => undefined).on("close", () => to.destroy());
      }
    });
    after(() => void server.close());
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const relay = new Relay(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    return relay;
  }

  async cut(): Promise<void> {
    const closed = [...this.open].filter((socket) => !socket.destroyed);
    await Promise.all(
      closed.map((socket) => new Promise((done) => socket.once("close", done).destroy())),
    );
    this.open.clear();
    // Gives the client's library time to notice.
    await new Promise((done) => setTimeout(done, 200));
  }
}
