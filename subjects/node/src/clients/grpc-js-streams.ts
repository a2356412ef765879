/** Streams of the stacks `grpc-js` and `grpc-js-gzip`, client. */

import * as grpc from "@grpc/grpc-js";

import type { Stream } from "../contract.js";
import type { Exchange } from "./exchange.js";

type Service = InstanceType<grpc.ServiceClientConstructor>;
type Messages = Exchange<object>;

type Responded = (error: grpc.ServiceError | null, response?: object) => void;
type ClientStream = (options: grpc.CallOptions, done: Responded) => grpc.ClientWritableStream<object>;
type ServerStream = (request: object, options: grpc.CallOptions) => grpc.ClientReadableStream<object>;
type Bidirectional = (options: grpc.CallOptions) => grpc.ClientDuplexStream<object, object>;

/** Makes a call with the given messages. */
type Call = (service: Service, options: grpc.CallOptions, messages: Messages) => void;

/** Returns how to call the method with the given name, which has the form of the stream. */
export function streaming({ form, in_turn }: Stream, name: string): Call {
  const methodOf = <T>(service: Service): T => (service[name] as Function).bind(service) as T;
  switch (form) {
    case "client":
      return (service, options, messages) => {
        const call = methodOf<ClientStream>(service)(options, (error, response) => {
          if (error) return messages.end(failure(error));
          messages.receive(response as object);
          messages.end();
        });
        call.on("error", (error) => messages.end(error));
        send(call, messages);
      };
    case "server":
      return (service, options, messages) => {
        receive(methodOf<ServerStream>(service)(messages.next() as object, options), messages);
      };
    default:
      return (service, options, messages) => {
        const call = methodOf<Bidirectional>(service)(options);
        receive(call, messages);
        if (!in_turn) return send(call, messages);
        call.on("data", () => sendNext(call, messages));
        sendNext(call, messages);
      };
  }
}

/** Sends all requests as fast as the library accepts them. */
function send(call: grpc.ClientWritableStream<object>, messages: Messages): void {
  while (sendNext(call, messages));
  if (!messages.hasSentAll) call.once("drain", () => send(call, messages));
}

/** Sends the next request, and ends the client's side after the last one. Returns whether to send another now. */
function sendNext(call: grpc.ClientWritableStream<object>, messages: Messages): boolean {
  const request = messages.next();
  if (request === undefined) return false;
  const hasRoom = call.write(request);
  if (!messages.hasSentAll) return hasRoom;
  call.end();
  return false;
}

function receive(call: grpc.ClientReadableStream<object>, messages: Messages): void {
  call.on("data", (response: object) => messages.receive(response));
  call.on("end", () => messages.end());
  call.on("error", (error) => messages.end(failure(error)));
}

/** Adds the status of a failed call to its error. */
export function failure(error: Error | grpc.ServiceError): Error {
  return "details" in error ? new Error(`${grpc.status[error.code]}: ${error.details}`) : error;
}
