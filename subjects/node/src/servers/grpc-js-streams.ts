/** Streams of the stack `grpc-js`, server. */

import * as grpc from "@grpc/grpc-js";

import type { Stream } from "../contract.js";
import { BadRequest, type Handler } from "../plain.js";
import { oneLine } from "../refused.js";

/** The status for a request that cannot be answered. */
export function statusOf(error: unknown): Partial<grpc.StatusObject> {
  const { INVALID_ARGUMENT, UNKNOWN } = grpc.status;
  return { code: error instanceof BadRequest ? INVALID_ARGUMENT : UNKNOWN, details: oneLine(error) };
}

/** Returns the method in the form that the generated service calls, with headers to send before the first message. */
export function streaming(
  { form, messages }: Stream,
  handle: Handler<object>,
  headers: grpc.Metadata | undefined,
): grpc.UntypedHandleCall {
  const begin = (call: grpc.ServerWritableStream<object, object> | grpc.ServerReadableStream<object, object>) => {
    if (headers !== undefined) call.sendMetadata(headers);
  };

  function client(call: grpc.ServerReadableStream<object, object>, done: grpc.sendUnaryData<object>): void {
    begin(call);
    let last: object | undefined;
    call.on("data", (request: object) => {
      last = request;
    });
    call.on("end", () => {
      try {
        if (last === undefined) throw new BadRequest("the stream has no request");
        done(null, handle(last));
      } catch (error) {
        done(statusOf(error));
      }
    });
  }

  function server(call: grpc.ServerWritableStream<object, object>): void {
    begin(call);
    let sent = 0;
    const send = (): void => {
      try {
        while (sent < messages) {
          const hasRoom = call.write(handle(call.request, sent));
          sent += 1;
          if (!hasRoom && sent < messages) return void call.once("drain", send);
        }
        call.end();
      } catch (error) {
        call.emit("error", statusOf(error));
      }
    };
    send();
  }

  function bidirectional(call: grpc.ServerDuplexStream<object, object>): void {
    begin(call);
    let failed = false;
    call.on("data", (request: object) => {
      if (failed) return;
      try {
        if (call.write(handle(request))) return;
        // Read no further until the client has read what it was sent.
        call.pause();
        call.once("drain", () => call.resume());
      } catch (error) {
        failed = true;
        call.emit("error", statusOf(error));
      }
    });
    call.on("end", () => call.end());
  }

  switch (form) {
    case "client":
      return client;
    case "server":
      return server;
    default:
      return bidirectional;
  }
}
