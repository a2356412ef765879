/** Stack `connect-node`, client: gRPC by Connect, with the code of protobuf-es. */

import { connect as connectSocket } from "node:net";

import type { Message } from "@bufbuild/protobuf";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { gzipOf } from "../connect-gzip.js";
import { levelOf } from "../compression.js";
import type { ClientSettings } from "../contract.js";
import { Es } from "../generated.js";
import { now, type Stamps } from "../slices.js";
import { versions } from "../versions.js";
import type { Workload } from "../workloads.js";
import type { Done, Library } from "./client.js";
import { authorityOf, endpointOf } from "./connections.js";
import { readMarks } from "./plain.js";

type Unary = (request: Message, options: CallOptions) => Promise<Message>;

export async function load(settings: ClientSettings, workload: Workload): Promise<Library<Message>> {
  const es = await Es.load(workload.messages);
  const method = es.method(workload.grpcPath);
  const baseUrl = `http://${authorityOf(settings.address)}`;
  const asks = levelOf(settings.response_compression) > 0;
  const level = levelOf(settings.request_compression);
  const perCall = settings.connection === "per-call";

  /** A connection, and the method over it. */
  function connection(): [Http2SessionManager, Unary] {
    const sessionManager = new Http2SessionManager(baseUrl, undefined, {
      createConnection: () => connectSocket({ ...endpointOf(settings.address), noDelay: true }),
    });
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager,
      defaultTimeoutMs: settings.deadline_ms,
      acceptCompression: asks ? [gzipOf(0)] : [],
      compressMinBytes: 0,
      readMaxBytes: settings.limits.max_message_bytes,
      ...(level > 0 && { sendCompression: gzipOf(level) }),
    });
    const client = createClient(method.parent, transport) as unknown as Record<string, Unary>;
    return [sessionManager, client[method.localName] as Unary];
  }
  const kept = perCall ? undefined : connection();

  function call(message: Message, stamps: Stamps, done: Done<Message>): void {
    const [session, unary] = kept ?? connection();
    const onHeader = (headers: Headers): void => {
      stamps.first = now();
      if (settings.marks) readMarks(stamps, (name) => headers.get(name));
    };
    unary(message, { onHeader }).then(
      (response) => {
        stamps.end = now();
        if (perCall) session.abort();
        done(undefined, response);
      },
      (error: Error) => {
        if (perCall) session.abort();
        done(error);
      },
    );
  }

  async function connect(): Promise<number> {
    if (kept === undefined) return 0;
    const [session] = kept;
    if (session.state() === "open" || session.state() === "idle") return 0;
    if ((await session.connect()) === "error") throw session.error();
    return 1;
  }

  const { request, response } = workload;
  const requests = settings.requests.map((sample) => es.fromJson(request, sample));
  const toJson = (message: Message) => es.toJson(response, message);
  const found = { ...versions("@connectrpc/connect-node"), ...Es.versions() };
  return { versions: found, code: "generated", requests, call, toJson, connect };
}
