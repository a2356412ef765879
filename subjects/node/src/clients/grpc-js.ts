/** Stacks `grpc-js` and `grpc-js-gzip`, client: @grpc/grpc-js with the services of ts-proto. */

import * as grpc from "@grpc/grpc-js";

import { levelOf } from "../compression.js";
import { type ClientSettings, HANDLER_END, HANDLER_START, type Stream } from "../contract.js";
import { Es, TsProto } from "../generated.js";
import { hybridMethod } from "../hybrid.js";
import { fromSample, toSample } from "../plain.js";
import type { Json } from "../shape.js";
import { NOT_KNOWN, now, type Stamps } from "../slices.js";
import { versions } from "../versions.js";
import type { Workload } from "../workloads.js";
import type { Done, Library } from "./client.js";
import type { Exchange } from "./exchange.js";
import { failure, streaming } from "./grpc-js-streams.js";

/** A request on its way through the library, with the call's stamps. */
interface Outgoing {
  message: object;
  stamps: Stamps;
}

/** A response, and the time when its bytes were complete. */
interface Incoming {
  message: object;
  received: bigint;
  bytes: number;
}

type Unary = (
  request: Outgoing,
  options: grpc.CallOptions,
  done: (error: grpc.ServiceError | null, response?: Incoming) => void,
) => grpc.ClientUnaryCall;

/** Wraps the generated definition to record when messages are encoded and when they arrive. */
function stamping(
  method: grpc.MethodDefinition<object, object>,
): grpc.MethodDefinition<Outgoing, Incoming> {
  return {
    ...method,
    requestSerialize: ({ message, stamps }) => {
      const bytes = method.requestSerialize(message);
      stamps.encoded = now();
      stamps.requestBytes = bytes.length;
      return bytes;
    },
    requestDeserialize: () => {
      throw new Error("a client reads no requests");
    },
    responseSerialize: () => {
      throw new Error("a client writes no responses");
    },
    responseDeserialize: (bytes) => {
      const received = now();
      return { message: method.responseDeserialize(bytes), received, bytes: bytes.length };
    },
  };
}

export async function load(settings: ClientSettings, workload: Workload): Promise<Library<object>> {
  const generated = await TsProto.load(workload.messages);
  const es = await Es.load(workload.messages);
  const { stream } = settings;
  const hybrid = settings.encoding === "hybrid";
  const [name, method] = hybrid
    ? hybridMethod(generated, workload.grpcPath, stream?.form)
    : generated.method(workload);
  const Service = grpc.makeGenericClientConstructor({ [name]: stream ? method : stamping(method) }, name);
  const compresses = levelOf(settings.request_compression) > 0;
  const decompresses = levelOf(settings.response_compression) > 0;
  const perCall = settings.connection === "per-call";
  const options: grpc.ClientOptions = {
    "grpc.max_receive_message_length": settings.limits.max_message_bytes,
    // The server is on this host, so proxies from the environment must be ignored.
    "grpc.enable_http_proxy": 0,
    ...(compresses && { "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip }),
    // Otherwise channels to the same address share a connection, even those of other parts.
    "grpc.use_local_subchannel_pool": 1,
  };
  const connectedTo = () => new Service(settings.address, grpc.credentials.createInsecure(), options);
  const kept = Array.from({ length: perCall ? 0 : settings.channels }, connectedTo);
  let turn = 0;
  const take = () => kept[turn++ % kept.length] ?? connectedTo();
  const callOptions = (): grpc.CallOptions => ({ deadline: Date.now() + settings.deadline_ms });

  function call(message: object, stamps: Stamps, done: Done<object>): void {
    const client = take();
    const unary = (client[name] as unknown as Unary).bind(client);
    const sent = unary({ message, stamps }, callOptions(), (error, response) => {
      if (error || response === undefined) {
        if (perCall) client.close();
        return done(error ? failure(error) : new Error("there is no response"));
      }
      stamps.end = now();
      if (perCall) client.close();
      stamps.received = response.received;
      stamps.responseBytes = response.bytes;
      // Compression happens below the encoder and the decoder, so it cannot be observed.
      if (compresses) [stamps.encoded, stamps.requestBytes] = [0n, NOT_KNOWN];
      if (decompresses) [stamps.received, stamps.responseBytes] = [0n, NOT_KNOWN];
      done(undefined, response.message);
    });
    sent.on("metadata", (metadata: grpc.Metadata) => {
      stamps.first = now();
      if (!settings.marks) return;
      stamps.handlerStart = mark(metadata, HANDLER_START);
      stamps.handlerEnd = mark(metadata, HANDLER_END);
    });
  }

  function streams(asked: Stream): (exchange: Exchange<object>) => void {
    const start = streaming(asked, name);
    return (exchange) => {
      const client = take();
      if (perCall) exchange.close = () => client.close();
      start(client, callOptions(), exchange);
    };
  }

  async function connect(): Promise<number> {
    const isReady = (client: grpc.Client) =>
      client.getChannel().getConnectivityState(true) === grpc.connectivityState.READY;
    const lost = kept.filter((client) => !isReady(client));
    const ready = (client: grpc.Client) =>
      new Promise<void>((done, fail) => {
        client.waitForReady(Date.now() + settings.deadline_ms, (error) => {
          if (error) fail(error);
          else done();
        });
      });
    await Promise.all(lost.map(ready));
    return lost.length;
  }

  const { request, response } = workload;
  const requests = settings.requests.map((sample) =>
    hybrid
      ? fromSample(es, workload, request, sample, "json")
      : es.sample("ts-proto", generated.type(request), request, sample),
  );
  const toJson = (message: object): Json =>
    hybrid
      ? (toSample(message) as Json)
      : es.fromBytes(response, generated.type(response).encode(message));
  const found = { ...versions("@grpc/grpc-js"), ...TsProto.versions() };
  const common = { versions: found, code: "generated" as const, requests, toJson, connect };
  return stream ? { ...common, exchange: streams(stream) } : { ...common, call };
}

function mark(metadata: grpc.Metadata, name: string): bigint {
  return BigInt(metadata.get(name)[0]?.toString() ?? 0);
}
