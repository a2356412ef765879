/** The libraries that encode and decode messages. */

import * as es from "@bufbuild/protobuf";
import { decode as decodeMsgpack, encode as encodeMsgpack } from "@msgpack/msgpack";

/** The functions of a library that its users call. The message type differs between libraries. */
export interface Type<M = any> {
  encode(message: M): Uint8Array;
  decode(bytes: Uint8Array): M;
}

/** The generated modules of protobuf-es. */
export type Modules = Record<string, unknown>[];

/** `contract/proto/hybrid.proto`, for which every set of messages has code. */
const HYBRID = "rpcgauge.Hybrid";

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];

export const JSON_TYPE: Type = {
  encode: (message) => encoder.encode(JSON.stringify(message)),
  decode: (bytes) => JSON.parse(decoder.decode(bytes)) as unknown,
};

// Without this, 64-bit integers would lose digits; numbers are not affected.
const BIG = { useBigInt64: true };

const MSGPACK_TYPE: Type = {
  encode: (message) => encodeMsgpack(message, BIG),
  decode: (bytes) => decodeMsgpack(bytes, BIG),
};

export class Library {
  readonly registry: es.Registry;

  constructor(
    modules: Modules,
    private readonly protobufjs: unknown,
  ) {
    const files = new Set<es.DescFile>();
    const add = (file: es.DescFile): void => {
      file.dependencies.forEach(add);
      files.add(file);
    };
    for (const value of modules.flatMap((module) => Object.values(module))) {
      if ((value as { kind?: string } | null)?.kind === "file") add(value as es.DescFile);
    }
    this.registry = es.createRegistry(...files);
  }

  /** The type with this full name, in the encoding. */
  type(stack: string, encoding: string, name: string): Type {
    switch (encoding) {
      case "json":
        return JSON_TYPE;
      case "msgpack":
        return MSGPACK_TYPE;
      case "protojson":
        return this.protojson(name);
      case "hybrid":
        return this.hybrid(stack);
      default:
        return stack === "protobufjs" ? this.ofProtobufjs(name) : this.ofEs(name);
    }
  }

  private schema(name: string): es.DescMessage {
    const found = this.registry.getMessage(name);
    if (found === undefined) throw new Error(`protobuf-es generated no code for ${name}`);
    return found;
  }

  private ofEs(name: string): Type {
    const schema = this.schema(name);
    return {
      encode: (message) => es.toBinary(schema, message),
      decode: (bytes) => es.fromBinary(schema, bytes),
    };
  }

  private protojson(name: string): Type {
    const schema = this.schema(name);
    const options = { registry: this.registry };
    return {
      encode: (message) => encoder.encode(es.toJsonString(schema, message, options)),
      decode: (bytes) => es.fromJsonString(schema, decoder.decode(bytes), options),
    };
  }

  private ofProtobufjs(name: string): Type {
    let found: any = this.protobufjs;
    // A reserved word is followed by an underscore.
    for (const part of name.split(".")) found = found?.[part] ?? found?.[`${part}_`];
    if (typeof found !== "function") throw new Error(`protobufjs generated no code for ${name}`);
    return {
      encode: (message) => found.encode(message).finish(),
      decode: (bytes) => found.decode(bytes),
    };
  }

  private hybrid(stack: string): Type {
    const type = this.type(stack, "protobuf", HYBRID);
    const schema = this.schema(HYBRID);
    // protobufjs' encoders accept plain objects.
    const make = (fields: object) => (stack === "protobufjs" ? fields : es.create(schema, fields as never));
    return {
      encode: (message) => type.encode(make({ json: JSON.stringify(message) })),
      decode: (bytes) => JSON.parse((type.decode(bytes) as { json: string }).json) as unknown,
    };
  }
}

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export function fromBase64(encoded: string): Uint8Array {
  return Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
}
