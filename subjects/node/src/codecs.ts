/** The codec stacks. */

import type { Message } from "@bufbuild/protobuf";

import type { CodecSettings, Limits } from "./contract.js";
import { compressSync, decompressSync, levelOf } from "./compression.js";
import {
  Es, type Generated, GoogleProtobuf, type Making, ProtobufJs, TsProto, type Type,
} from "./generated.js";
import { hybridType } from "./hybrid.js";
import { fromSample, toSample } from "./plain.js";
import { Refused } from "./refused.js";
import type { Json } from "./shape.js";
import { type Measurer, now, Stamps, type Tally } from "./slices.js";
import { versions } from "./versions.js";
import type { Workload } from "./workloads.js";

/** A sample as a message of a library, and the functions that the library's users call. */
interface Library {
  message: unknown;
  type: AnyType;
  toJson(message: any): unknown;
  versions: Record<string, string>;
  code?: "generated" | undefined;
}

/** The message type differs between libraries. */
type AnyType = Type<any>;

const JSON_TYPE: AnyType = {
  encode: (message) => Buffer.from(JSON.stringify(message)),
  decode: (bytes) => JSON.parse((bytes as Buffer).toString()) as unknown,
};

export async function load(
  stack: string,
  settings: CodecSettings,
  workload: Workload,
): Promise<Library> {
  const { sample, message } = settings;
  const typeName = workload[sample];
  const es = await Es.load(workload.messages);
  const plain = (form: "json" | "msgpack") => fromSample(es, workload, typeName, message, form);
  switch (stack) {
    case "json": {
      const message = plain("json");
      return { message, type: JSON_TYPE, toJson: toSample, versions: {} };
    }
    case "msgpack": {
      const { encode, decode } = await import("@msgpack/msgpack");
      // Without this, 64-bit integers would lose digits; numbers are not affected.
      const options = workload.own === undefined ? {} : { useBigInt64: true };
      const type: Type<unknown> = {
        encode: (value) => encode(value, options),
        decode: (bytes) => decode(bytes, options),
      };
      const library = { message: plain("msgpack"), type, toJson: toSample };
      return { ...library, versions: versions("@msgpack/msgpack") };
    }
  }
  const [generated, found] = await loadGenerated(stack, es, workload.messages);
  if (settings.encoding === "protojson") {
    const toJson = (decoded: Message) => es.toJson(typeName, decoded);
    const own = es.fromJson(typeName, message);
    return { message: own, type: es.jsonType(typeName), toJson, versions: Es.versions(), code: "generated" };
  }
  const hybrid = settings.encoding === "hybrid";
  const type = hybrid ? hybridType(generated as Making<any>) : generated.type(typeName);
  const own = hybrid ? plain("json") : es.sample(stack, type, typeName, message);
  const toJson = hybrid ? toSample : (value: unknown) => es.fromBytes(typeName, type.encode(value));
  return { message: own, type, toJson, versions: found, code: "generated" };
}

async function loadGenerated(
  stack: string,
  es: Es,
  messages: string,
): Promise<[Generated<any>, Record<string, string>]> {
  switch (stack) {
    case "protobuf-es":
      return [es, Es.versions()];
    case "google-protobuf":
      return [await GoogleProtobuf.load(messages), GoogleProtobuf.versions()];
    case "protobufjs":
      return [await ProtobufJs.load(messages), ProtobufJs.versions()];
    default:
      return [await TsProto.load(messages), TsProto.versions()];
  }
}

/** A library's functions with gzip after encoding and before decoding. */
function compressing(type: AnyType, level: number, limits: Limits): AnyType {
  return {
    encode: (message) => compressSync(type.encode(message), level),
    decode: (bytes) => type.decode(decompressSync(bytes, limits)),
  };
}

export class Codec implements Measurer {
  readonly inBatches = true;
  readonly versions: Record<string, string>;
  readonly code: string | undefined;
  private readonly operate: () => unknown;
  private readonly proof: () => Json;

  constructor(library: Library, settings: CodecSettings) {
    this.versions = library.versions;
    this.code = library.code;
    const level = levelOf(settings.compression);
    const type = level === 0 ? library.type : compressing(library.type, level, settings.limits);
    const { message } = library;
    // In a separate buffer, as if it had arrived over a connection.
    const encoded = Buffer.from(type.encode(message));
    if (encoded.length > settings.limits.max_message_bytes) {
      throw new Refused(`the sample has ${encoded.length} bytes, more than the limit`, "user");
    }
    if (settings.operation === "encode") {
      this.operate = () => type.encode(message);
      this.proof = () => ({ bytes: Buffer.from(type.encode(message)).toString("base64") });
    } else {
      this.operate = () => type.decode(encoded);
      this.proof = () => ({ message: library.toJson(type.decode(encoded)) });
    }
  }

  async verify(): Promise<Json> {
    return this.proof();
  }

  async reopen(): Promise<number> {
    return 0;
  }

  async run(tally: Tally): Promise<void> {
    for (let recorded = tally.next(); recorded !== undefined; recorded = tally.next()) {
      const stamps = new Stamps();
      stamps.begin = now();
      try {
        for (let done = 0; done < tally.operations; done += 1) this.operate();
        stamps.end = now();
        if (recorded) tally.add(stamps);
      } catch (error) {
        if (recorded) tally.addFailed(stamps.begin, error);
      }
    }
  }
}
