/** Stack `connect-node`, client: gRPC and Connect's own protocol, with protobuf-es. */

import { connect as connectSocket } from "node:net";

import type { Message } from "@bufbuild/protobuf";
import { type CallOptions, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport, createGrpcTransport, Http2SessionManager,
} from "@connectrpc/connect-node";

import { gzipOf } from "../connect-gzip.js";
import { levelOf } from "../compression.js";
import type { ClientSettings, Stream } from "../contract.js";
import { Es } from "../generated.js";
import { now, type Stamps } from "../slices.js";
import { versions } from "../versions.js";
import type { Workload } from "../workloads.js";
import type { Done, Library } from "./client.js";
import { type Streamed, streaming } from "./connect-node-streams.js";
import { authorityOf, Connections, endpointOf } from "./connections.js";
import type { Exchange } from "./exchange.js";
import { KeptAgent } from "./http.js";
import { readMarks } from "./plain.js";

/** A transport, with the functions that manage its connections. */
interface Link {
  transport: Transport;
  connect(): Promise<number>;
  close(): void;
}

type Unary = (request: Message, options: CallOptions) => Promise<Message>;
/** The method of the library's client. */
type Stub = Unary | Streamed;

function linkOf(settings: ClientSettings, es: Es): Link {
  const baseUrl = `http://${authorityOf(settings.address)}`;
  const level = levelOf(settings.request_compression);
  const common = {
    baseUrl,
    defaultTimeoutMs: settings.deadline_ms,
    acceptCompression: levelOf(settings.response_compression) > 0 ? [gzipOf(0)] : [],
    compressMinBytes: 0,
    readMaxBytes: settings.limits.max_message_bytes,
    useBinaryFormat: settings.encoding === "protobuf",
    jsonOptions: { registry: es.registry },
    ...(level > 0 && { sendCompression: gzipOf(level) }),
  };
  if (settings.http === "1.1") {
    const connections = new Connections(settings);
    const nodeOptions = { agent: new KeptAgent(connections, settings) };
    const transport = createConnectTransport({ ...common, httpVersion: "1.1", nodeOptions });
    return { transport, connect: () => connections.fill(), close: () => undefined };
  }
  const sessionManager = new Http2SessionManager(baseUrl, undefined, {
    createConnection: () => connectSocket({ ...endpointOf(settings.address), noDelay: true }),
  });
  const create = settings.protocol === "grpc" ? createGrpcTransport : createConnectTransport;
  return {
    transport: create({ ...common, httpVersion: "2", sessionManager }),
    async connect() {
      const state = sessionManager.state();
      if (state === "open" || state === "idle") return 0;
      if ((await sessionManager.connect()) === "error") throw sessionManager.error();
      return 1;
    },
    close: () => sessionManager.abort(),
  };
}

export async function load(settings: ClientSettings, workload: Workload): Promise<Library<Message>> {
  const es = await Es.load(workload.messages);
  const { stream } = settings;
  const method = es.method(workload.grpcPath);
  const perCall = settings.connection === "per-call";

  function stub({ transport }: Link): Stub {
    const client = createClient(method.parent, transport) as unknown as Record<string, Stub>;
    return client[method.localName] as Stub;
  }
  const fresh = (): [Link, Stub] => {
    const link = linkOf(settings, es);
    return [link, stub(link)];
  };
  const kept = Array.from({ length: perCall ? 0 : settings.channels }, fresh);
  let turn = 0;
  const take = () => kept[turn++ % kept.length] ?? fresh();

  function call(message: Message, stamps: Stamps, done: Done<Message>): void {
    const [link, unary] = take() as [Link, Unary];
    // The library calls this after decoding the response, so the time of the first byte cannot be observed.
    const onHeader = (headers: Headers): void => readMarks(stamps, (name) => headers.get(name));
    unary(message, settings.marks ? { onHeader } : {}).then(
      (response) => {
        stamps.end = now();
        if (perCall) link.close();
        done(undefined, response);
      },
      (error: Error) => {
        if (perCall) link.close();
        done(error);
      },
    );
  }

  function streams(asked: Stream): (exchange: Exchange<Message>) => void {
    const start = streaming(asked);
    return (exchange) => {
      const [link, streamed] = take() as [Link, Streamed];
      if (perCall) exchange.close = () => link.close();
      start(streamed, exchange).then(
        () => exchange.end(),
        (error: unknown) => exchange.end(error),
      );
    };
  }

  async function connect(): Promise<number> {
    const opened = await Promise.all(kept.map(([link]) => link.connect()));
    return opened.reduce((all, one) => all + one, 0);
  }

  const { request, response } = workload;
  const requests = settings.requests.map((sample) => es.fromJson(request, sample));
  const toJson = (message: Message) => es.toJson(response, message);
  const found = { ...versions("@connectrpc/connect-node"), ...Es.versions() };
  const common = { versions: found, code: "generated" as const, requests, toJson, connect };
  return stream ? { ...common, exchange: streams(stream) } : { ...common, call };
}
