/**
 * JSON schemas of messages in JSON with 64-bit integers as numbers, each a definition under its full name.
 *
 * Fastify validates requests and serializes responses with them.
 */

import { createFileRegistry, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { FileDescriptorSet } from "@bufbuild/protobuf/wkt";

export type Schema = Record<string, unknown>;

/** The id that references begin with. */
export const SCHEMAS_ID = "messages";

const TEXT: Schema = { type: "string" };
const ANYTHING: Schema = {};
const OBJECT: Schema = { type: "object", additionalProperties: true };

/** Messages that have their own JSON form. */
const WELL_KNOWN: Record<string, Schema> = {
  "google.protobuf.Any": OBJECT,
  "google.protobuf.BoolValue": { type: "boolean", nullable: true },
  "google.protobuf.BytesValue": { type: "string", nullable: true },
  "google.protobuf.DoubleValue": { type: "number", nullable: true },
  "google.protobuf.Duration": TEXT,
  "google.protobuf.FieldMask": TEXT,
  "google.protobuf.FloatValue": { type: "number", nullable: true },
  "google.protobuf.Int32Value": { type: "integer", nullable: true },
  "google.protobuf.Int64Value": { type: "integer", nullable: true },
  "google.protobuf.ListValue": { type: "array", items: ANYTHING },
  "google.protobuf.StringValue": { type: "string", nullable: true },
  "google.protobuf.Struct": OBJECT,
  "google.protobuf.Timestamp": TEXT,
  "google.protobuf.UInt32Value": { type: "integer", nullable: true },
  "google.protobuf.UInt64Value": { type: "integer", nullable: true },
  "google.protobuf.Value": ANYTHING,
};

/** Whether the JSON form of a message is something other than an object with its fields. */
export function hasOwnForm({ typeName }: DescMessage): boolean {
  return Object.hasOwn(WELL_KNOWN, typeName);
}

export function schemas(descriptors: FileDescriptorSet): Schema {
  const definitions: Schema = {};
  for (const type of createFileRegistry(descriptors)) {
    if (type.kind === "message") definitions[type.typeName] ??= message(type);
  }
  return { $id: SCHEMAS_ID, definitions };
}

export function reference(typeName: string): Schema {
  return { $ref: `${SCHEMAS_ID}#/definitions/${typeName}` };
}

function message(type: DescMessage): Schema {
  const known = WELL_KNOWN[type.typeName];
  if (known !== undefined) return known;
  const properties = Object.fromEntries(type.fields.map((each) => [each.jsonName, field(each)]));
  // Extensions have keys that the message does not define.
  return { type: "object", properties, additionalProperties: extensible(type) };
}

function extensible(type: DescMessage): boolean {
  return type.proto.extensionRange.length > 0;
}

function field(of: DescField): Schema {
  switch (of.fieldKind) {
    case "list":
      return { type: "array", items: of.listKind === "message" ? reference(of.message.typeName) : single(of) };
    case "map":
      return {
        type: "object",
        additionalProperties: of.mapKind === "message" ? reference(of.message.typeName) : single(of),
      };
    case "message":
      return reference(of.message.typeName);
    default:
      return single(of);
  }
}

/** The schema of a scalar or an enum. */
function single(of: DescField): Schema {
  if (of.enum !== undefined) {
    return of.enum.typeName === "google.protobuf.NullValue" ? { type: "null" } : TEXT;
  }
  switch (of.scalar) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: "number" };
    case ScalarType.BYTES:
    case ScalarType.STRING:
      return TEXT;
    default:
      return { type: "integer" };
  }
}
