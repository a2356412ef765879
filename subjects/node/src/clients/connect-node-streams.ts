/** Streams of the stack `connect-node`, client. */

import type { Message } from "@bufbuild/protobuf";

import type { Stream } from "../contract.js";
import type { Exchange } from "./exchange.js";

type Messages = Exchange<Message>;
type Requests = AsyncIterable<Message>;

type ClientStream = (requests: Requests) => Promise<Message>;
type ServerStream = (request: Message) => AsyncIterable<Message>;
type Bidirectional = (requests: Requests) => AsyncIterable<Message>;
/** A method of the library's client, whose form is that of the stream. */
export type Streamed = ClientStream | ServerStream | Bidirectional;

/** Makes a call with the given messages; rejects if the call fails. */
type Call = (method: Streamed, messages: Messages) => Promise<void>;

/** Returns how to call a method of the form. */
export function streaming({ form, in_turn }: Stream): Call {
  switch (form) {
    case "client":
      return async (method, messages) => {
        messages.receive(await (method as ClientStream)(unpaced(messages)));
      };
    case "server":
      return async (method, messages) => {
        const responses = (method as ServerStream)(messages.next() as Message);
        for await (const response of responses) messages.receive(response);
      };
    default:
      return in_turn
        ? async (method, messages) => inTurn(method as Bidirectional, messages)
        : async (method, messages) => {
            const responses = (method as Bidirectional)(unpaced(messages));
            for await (const response of responses) messages.receive(response);
          };
  }
}

/** The requests, as fast as the library accepts them. */
async function* unpaced(messages: Messages): Requests {
  for (let request = messages.next(); request !== undefined; request = messages.next()) yield request;
}

async function inTurn(method: Bidirectional, messages: Messages): Promise<void> {
  let proceed = (): void => undefined;

  async function* requests(): Requests {
    for (let request = messages.next(); request !== undefined; request = messages.next()) {
      yield request;
      // The library may ask for the next request before or after the response to this one.
      if (messages.isWaiting && !messages.hasSentAll) await new Promise<void>((go) => (proceed = go));
    }
  }

  for await (const response of method(requests())) {
    messages.receive(response);
    proceed();
  }
}
