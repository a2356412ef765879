/** The generated code for the messages of each library, with the functions that the library's users call. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";

import type * as grpc from "@grpc/grpc-js";
import type { DescFile, DescMessage, DescMethod, Message, Registry } from "@bufbuild/protobuf";

import { Refused } from "./refused.js";
import { isObject, type Json } from "./shape.js";
import { version } from "./versions.js";
import type { Workload } from "./workloads.js";

/** A method, with the names of its messages. */
type Called = Pick<Workload, "grpcPath" | "request" | "response">;

/** A message type in a library's generated code. */
export interface Type<M> {
  encode(message: M): Uint8Array;
  decode(bytes: Uint8Array): M;
}

/** A library's generated code. */
export interface Generated<M> {
  type(typeName: string): Type<M>;
}

/** Generated code that can create a message from its fields. */
export interface Making<M> extends Generated<M> {
  maker(typeName: string): (fields: object) => M;
}

/** The file with the error of a generator that failed. */
export const FAILED = "failed.txt";

async function importAll(folder: string): Promise<Json[]> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  if (names.includes(FAILED)) {
    const why = readFileSync(join(folder, FAILED), "utf8").trim();
    throw new Refused(`there is no code for these messages: ${why}`, "user");
  }
  const modules = names.filter((name) => name.endsWith(".js")).sort();
  const load = (name: string) => import(pathToFileURL(join(folder, name)).href) as Promise<Json>;
  return Promise.all(modules.map(load));
}

function missing(typeName: string, library: string): Refused {
  return new Refused(`${library} generated no code for ${typeName}`, "subject");
}

/** protobuf-es. Its JSON is the proto3 JSON mapping, so all samples are read and written through it. */
export class Es {
  private constructor(
    private readonly es: typeof import("@bufbuild/protobuf"),
    readonly registry: Registry,
  ) {}

  static async load(messages: string): Promise<Es> {
    const es = await import("@bufbuild/protobuf");
    const files = new Set<DescFile>();
    const add = (file: DescFile): void => {
      file.dependencies.forEach(add);
      files.add(file);
    };
    for (const module of await importAll(join(messages, "es"))) {
      for (const value of Object.values(module)) {
        if (isObject(value) && value.kind === "file") add(value as unknown as DescFile);
      }
    }
    return new Es(es, es.createRegistry(...files));
  }

  static versions = () => ({ "@bufbuild/protobuf": version("@bufbuild/protobuf") });

  schema(typeName: string): DescMessage {
    const found = this.registry.getMessage(typeName);
    if (found === undefined) throw missing(typeName, "protobuf-es");
    return found;
  }

  /** Returns a method by its gRPC path. */
  method(path: string): DescMethod {
    const [, service, name] = path.split("/");
    const methods = this.registry.getService(service ?? "")?.methods;
    const found = methods?.find((method) => method.name === name);
    if (found === undefined) throw missing(path, "protobuf-es");
    return found;
  }

  type(typeName: string): Type<Message> {
    const schema = this.schema(typeName);
    const { toBinary, fromBinary } = this.es;
    return {
      encode: (message) => toBinary(schema, message),
      decode: (bytes) => fromBinary(schema, bytes),
    };
  }

  /** Returns the type with the library's own JSON. */
  jsonType(typeName: string): Type<Message> {
    const schema = this.schema(typeName);
    const { toJsonString, fromJsonString } = this.es;
    const options = { registry: this.registry };
    return {
      encode: (message) => Buffer.from(toJsonString(schema, message, options)),
      decode: (bytes) => fromJsonString(schema, (bytes as Buffer).toString(), options),
    };
  }

  maker(typeName: string): (init: object) => Message {
    const schema = this.schema(typeName);
    return (init) => this.es.create(schema, init as never);
  }

  /** Converts a sample to a message. */
  fromJson(typeName: string, sample: unknown): Message {
    try {
      return this.es.fromJson(this.schema(typeName), sample as never, { registry: this.registry });
    } catch (error) {
      throw new Refused(`the sample is not a ${typeName}: ${String(error)}`, "user");
    }
  }

  toJson(typeName: string, message: Message): Json {
    return this.es.toJson(this.schema(typeName), message, { registry: this.registry }) as Json;
  }

  /** Converts a sample to protobuf bytes, which any library can read. */
  toBytes(typeName: string, sample: unknown): Uint8Array {
    return this.type(typeName).encode(this.fromJson(typeName, sample));
  }

  /** Converts a sample to a message of another library; refuses it if the library would lose part of it. */
  sample<T>(library: string, type: Type<T>, typeName: string, sample: unknown): T {
    const bytes = this.toBytes(typeName, sample);
    const message = type.decode(bytes);
    const again = type.encode(message);
    // What a library does not know, it leaves out.
    if (again.length !== bytes.length && !this.areSame(typeName, again, bytes)) {
      const without = "extensions, groups (DELIMITED), or fields that are set to their default (proto2)";
      throw new Refused(`${library} would lose part of the sample: it does not support ${without}`, "user");
    }
    return message;
  }

  private areSame(typeName: string, some: Uint8Array, others: Uint8Array): boolean {
    try {
      return isDeepStrictEqual(this.fromBytes(typeName, some), this.fromBytes(typeName, others));
    } catch {
      // If a required field is lost, the message has no JSON.
      return false;
    }
  }

  fromBytes(typeName: string, bytes: Uint8Array): Json {
    return this.toJson(typeName, this.type(typeName).decode(bytes));
  }
}

interface Writer {
  finish(): Uint8Array;
}

interface WritingType {
  encode(message: object): Writer;
  decode(bytes: Uint8Array): object;
}

function written(type: WritingType): Type<object> {
  return {
    encode: (message) => type.encode(message).finish(),
    decode: (bytes) => type.decode(bytes),
  };
}

/** Messages for which ts-proto's services use JavaScript values, such as a string for a StringValue. */
const UNWRAPPED = /^google\.protobuf\.(Timestamp|FieldMask|Struct|\w*Value)$/;

/** ts-proto. */
export class TsProto {
  private constructor(
    private readonly messages: string,
    private readonly exports: Json[],
  ) {}

  static async load(messages: string): Promise<TsProto> {
    const modules = await importAll(join(messages, "ts-proto"));
    return new TsProto(messages, modules.flatMap((module) => Object.values(module)).filter(isObject));
  }

  static versions = () => ({
    "ts-proto": version("ts-proto"),
    "@bufbuild/protobuf": version("@bufbuild/protobuf"),
  });

  private find(typeName: string): Json {
    const found = this.exports.find((value) => value.$type === typeName);
    if (found === undefined) throw missing(typeName, "ts-proto");
    return found;
  }

  type(typeName: string): Type<object> {
    return written(this.find(typeName) as unknown as WritingType);
  }

  maker(typeName: string): (init: object) => object {
    const type = this.find(typeName) as unknown as { fromPartial(init: object): object };
    return (init) => type.fromPartial(init);
  }

  /** Converts a sample to a message using protobuf-es, because the generated code does not support proto3 JSON. */
  async fromJson(typeName: string, sample: unknown): Promise<object> {
    const es = await Es.load(this.messages);
    return es.sample("ts-proto", this.type(typeName), typeName, sample);
  }

  /** Returns the method's name in its generated service, and its definition there. */
  method(called: Called): [string, grpc.MethodDefinition<object, object>] {
    const { grpcPath: path, request, response } = called;
    const unwrapped = [request, response].find((typeName) => UNWRAPPED.test(typeName));
    if (unwrapped !== undefined) {
      throw new Refused(`ts-proto's services do not support ${unwrapped} as a message`, "user");
    }
    for (const value of this.exports) {
      for (const [name, method] of Object.entries(value)) {
        if (isObject(method) && method.path === path) {
          return [name, method as unknown as grpc.MethodDefinition<object, object>];
        }
      }
    }
    throw missing(path, "ts-proto");
  }
}

/** protobufjs, static code. */
export class ProtobufJs {
  private constructor(private readonly root: Json) {}

  static async load(messages: string): Promise<ProtobufJs> {
    const [module] = await importAll(join(messages, "protobufjs"));
    return new ProtobufJs(module?.default as Json);
  }

  static versions = () => ({ protobufjs: version("protobufjs") });

  /** The library's encoders accept plain objects. */
  maker = () => (fields: object) => fields;

  type(typeName: string): Type<object> {
    return written(find(this.root, typeName, "protobufjs") as WritingType);
  }
}

/** Finds a message's class in a library's tree of packages. */
function find(root: unknown, typeName: string, library: string): unknown {
  let found = root;
  for (const name of typeName.split(".")) {
    // A reserved word is followed by an underscore.
    const own = [name, `${name}_`].find((each) => Object.hasOwn(found as Json, each));
    if (own === undefined) throw missing(typeName, library);
    found = (found as Json)[own];
  }
  if (typeof found !== "function") throw missing(typeName, library);
  return found;
}

/** google-protobuf. Its messages have a getter and a setter for each field. */
export class GoogleProtobuf {
  static async load(messages: string): Promise<GoogleProtobuf> {
    await importAll(join(messages, "google-protobuf"));
    return new GoogleProtobuf();
  }

  static versions = () => ({ "google-protobuf": version("google-protobuf") });

  /** The generated code puts its packages into a global variable, `proto`. */
  type(typeName: string): Type<SerializableMessage> {
    const { proto } = globalThis as unknown as { proto: unknown };
    const found = find(proto, typeName, "google-protobuf") as DeserializableType;
    return {
      encode: (message) => message.serializeBinary(),
      decode: (bytes) => found.deserializeBinary(bytes),
    };
  }
}

interface SerializableMessage {
  serializeBinary(): Uint8Array;
}

interface DeserializableType {
  deserializeBinary(bytes: Uint8Array): SerializableMessage;
}
