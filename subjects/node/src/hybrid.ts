/** The encoding `hybrid`: any message as a JSON string inside a protobuf message. */

import type { MethodDefinition } from "@grpc/grpc-js";

import type { Making, TsProto, Type } from "./generated.js";

/** `contract/proto/hybrid.proto`, for which every set of messages has code. */
interface Hybrid {
  json: string;
}
const HYBRID = "rpcgauge.Hybrid";

/** JSON.parse and JSON.stringify with the text inside the library's message. */
export function hybridType<H>(library: Making<H>): Type<object> {
  const type = library.type(HYBRID);
  const make = library.maker(HYBRID);
  return {
    encode: (message) => type.encode(make({ json: JSON.stringify(message) })),
    decode: (bytes) => JSON.parse((type.decode(bytes) as Hybrid).json) as object,
  };
}

/**
 * Returns the method's name and its definition for grpc-js, like those that ts-proto generates for its own messages.
 * `form` is the form of its stream, if it streams.
 */
export function hybridMethod(
  library: TsProto,
  path: string,
  form?: string,
): [string, MethodDefinition<object, object>] {
  const { encode, decode } = hybridType(library);
  const serialize = (message: object): Buffer => Buffer.from(encode(message));
  const name = path.slice(path.lastIndexOf("/") + 1);
  const definition = {
    path,
    requestStream: form === "client" || form === "bidirectional",
    requestSerialize: serialize,
    requestDeserialize: decode,
    responseStream: form === "server" || form === "bidirectional",
    responseSerialize: serialize,
    responseDeserialize: decode,
  };
  return [name, definition];
}
