/** Stack `grpc-js`, server: @grpc/grpc-js with the services of ts-proto. */

import * as grpc from "@grpc/grpc-js";

import { HANDLER_END, HANDLER_START, type ServerSettings } from "../contract.js";
import { TsProto } from "../generated.js";
import { hybridMethod } from "../hybrid.js";
import type { Handler } from "../plain.js";
import { now } from "../slices.js";
import { handler } from "../typed.js";
import { versions } from "../versions.js";
import type { Workload } from "../workloads.js";
import { statusOf, streaming } from "./grpc-js-streams.js";
import { plainHandler } from "./plain.js";
import { addressOf, cannotListen, hostOf, removeSocket, type Server } from "./server.js";

export async function serve(settings: ServerSettings, workload: Workload): Promise<Server> {
  const { limits, listen, marks, stream } = settings;
  const generated = await TsProto.load(workload.messages);
  const hybrid = settings.encoding === "hybrid";
  const [name, method] = hybrid
    ? hybridMethod(generated, workload.grpcPath, stream?.form)
    : generated.method(workload);
  const handle = hybrid
    ? ((await plainHandler(workload)) as Handler<object>)
    : await handlerOf(generated, workload);
  const headers = (): grpc.Metadata => {
    const metadata = new grpc.Metadata();
    // The library declares all messages as protobuf.
    if (hybrid) metadata.set("content-type", "application/grpc+hybrid");
    return metadata;
  };
  const respond = stream
    ? streaming(stream, handle, hybrid ? headers() : undefined)
    : unary(handle, headers, marks, hybrid);
  const server = new grpc.Server({ "grpc.max_receive_message_length": limits.max_message_bytes });
  server.addService({ [name]: method }, { [name]: respond });
  const address = listen.transport === "unix" ? `unix:${listen.path}` : `${hostOf(listen)}:0`;
  const credentials = grpc.ServerCredentials.createInsecure();
  const port = await new Promise<number>((done, fail) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error) fail(cannotListen(listen, error));
      else done(bound);
    });
  });
  return {
    address: addressOf(listen, port),
    versions: { ...versions("@grpc/grpc-js"), ...TsProto.versions() },
    code: "generated",
    close: () => removeSocket(listen),
  };
}

async function handlerOf(generated: TsProto, workload: Workload): Promise<Handler<object>> {
  const { own, response } = workload;
  if (own === undefined) return handler(workload, generated.maker(response));
  const kept = await generated.fromJson(response, own.response);
  return () => kept;
}

/** Returns the method in the form that the generated service calls. */
function unary(
  handle: Handler<object>,
  headers: () => grpc.Metadata,
  marks: boolean,
  hybrid: boolean,
): grpc.handleUnaryCall<object, object> {
  return (call, done) => {
    const start = now();
    let response: object;
    try {
      response = handle(call.request);
    } catch (error) {
      return done({ ...statusOf(error), metadata: headers() });
    }
    if (marks || hybrid) {
      const metadata = headers();
      if (marks) {
        metadata.set(HANDLER_START, String(start));
        metadata.set(HANDLER_END, String(now()));
      }
      // This sends the headers before the message, in a separate step.
      call.sendMetadata(metadata);
    }
    done(null, response);
  };
}
