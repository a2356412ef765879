/** Streams of the stack `connect-node`, server. */

import type {
  DescMethod, DescMethodBiDiStreaming, DescMethodClientStreaming, DescMethodServerStreaming, Message,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";

import type { Stream } from "../contract.js";
import type { Handler } from "../plain.js";

type Messages = AsyncIterable<Message>;

/** Adds a method that has the form of the stream. */
export function addStream(
  router: ConnectRouter,
  method: DescMethod,
  { form, messages }: Stream,
  handle: Handler<Message>,
): void {
  async function client(requests: Messages): Promise<Message> {
    let last: Message | undefined;
    for await (const request of requests) last = request;
    if (last === undefined) throw new ConnectError("the stream has no request", Code.InvalidArgument);
    return handle(last);
  }

  async function* server(request: Message): Messages {
    for (let sent = 0; sent < messages; sent += 1) yield handle(request, sent);
  }

  async function* bidirectional(requests: Messages): Messages {
    for await (const request of requests) yield handle(request);
  }

  switch (form) {
    case "client":
      router.rpc(method as DescMethodClientStreaming, client);
      break;
    case "server":
      router.rpc(method as DescMethodServerStreaming, server);
      break;
    default:
      router.rpc(method as DescMethodBiDiStreaming, bidirectional);
  }
}
