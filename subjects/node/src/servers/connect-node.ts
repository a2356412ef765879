/** Stack `connect-node`, server: gRPC and Connect's own protocol, with protobuf-es. */

import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";

import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

import { gzipOf, MAX_BYTES } from "../connect-gzip.js";
import { levelOf } from "../compression.js";
import { HANDLER_END, HANDLER_START, type ServerSettings } from "../contract.js";
import { Es } from "../generated.js";
import { BadRequest, type Handler } from "../plain.js";
import { now } from "../slices.js";
import { handler } from "../typed.js";
import { versions } from "../versions.js";
import type { Workload } from "../workloads.js";
import { addStream } from "./connect-node-streams.js";
import { listenOn, removeSocket, type Server } from "./server.js";

export async function serve(settings: ServerSettings, workload: Workload): Promise<Server> {
  const { limits, listen, marks, stream } = settings;
  const es = await Es.load(workload.messages);
  const handle = refusing(handlerOf(es, workload));
  const routes = (router: ConnectRouter): void => {
    if (stream !== undefined) return addStream(router, es.method(workload.grpcPath), stream, handle);
    router.rpc(es.method(workload.grpcPath) as DescMethodUnary, (request: Message, context) => {
      const start = now();
      const response = handle(request);
      if (marks) {
        context.responseHeader.set(HANDLER_START, String(start));
        context.responseHeader.set(HANDLER_END, String(now()));
      }
      return response;
    });
  };
  const level = levelOf(settings.response_compression);
  const respond = connectNodeAdapter({
    routes,
    acceptCompression: [gzipOf(level)],
    compressMinBytes: level === 0 ? MAX_BYTES : 0,
    readMaxBytes: limits.max_message_bytes,
    jsonOptions: { registry: es.registry },
  });
  // Connections stay open until the client closes them.
  const server =
    settings.http === "2"
      ? createHttp2Server(respond)
      : createHttp1Server({ keepAliveTimeout: 0 }, respond);
  const address = await listenOn(server, listen);
  const found = { ...versions("@connectrpc/connect-node"), ...Es.versions() };
  return { address, versions: found, code: "generated", close: () => removeSocket(listen) };
}

/** Gives the error for a request that cannot be answered its status. */
function refusing(handle: Handler<Message>): Handler<Message> {
  return (request, number) => {
    try {
      return handle(request, number);
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      throw new ConnectError(error.message, Code.InvalidArgument);
    }
  };
}

function handlerOf(es: Es, workload: Workload): Handler<Message> {
  const { own, response } = workload;
  if (own === undefined) return handler(workload, es.maker(response));
  const kept = es.fromJson(response, own.response);
  return () => kept;
}
