/**
 * Messages as the objects used by JSON and MessagePack, and the services for them.
 *
 * The interfaces are those that a service's author would write by hand, and that `json_types` of protoc-gen-es derives
 * for any message.
 */

import { readFileSync } from "node:fs";

import type { DescField, DescMessage, ScalarType as Scalar } from "@bufbuild/protobuf";

import type { Es } from "./generated.js";
import { hasOwnForm } from "./schemas.js";
import { isObject, type Json } from "./shape.js";
import type { Workload } from "./workloads.js";

export const MAX_ITEMS = 100_000;
/** How many items a server builds once. */
export const KEPT_ITEMS = 2_000;
export const FIRST_FOLLOWER = 10_000;

/** A request that cannot be answered; the caller is at fault. */
export class BadRequest extends Error {}

export type Item = {
  id: number;
  common: { id: number };
  message: {
    double: number;
    float: number;
    int: number;
    long: number;
    boolean: boolean;
    string: string;
    enum: string;
    map: Record<string, number>;
  };
  description: string;
};

/**
 * Returns the service's response to a request; throws a BadRequest if the request is invalid. `number`, from 0, is the
 * position of the response if the request has several.
 */
export type Handler<M> = (request: M, number?: number) => M;

export function handler(workload: Workload): Handler<Json> {
  const { n } = workload;
  switch (workload.name) {
    case "echo":
      return echo;
    case "hello":
      return (request) => ({ message: `Hello, ${typed(request, "name", "")}.` });
    case "list": {
      const kept = { response: items(n) };
      return (request) => {
        const asked = whole(request, "id");
        return asked === n ? kept : { response: items(within("id", asked, MAX_ITEMS)) };
      };
    }
    case "items": {
      const kept = items(KEPT_ITEMS);
      return (request, number = 0) => {
        const i = idOfItem(whole(request, "id")) + number;
        return kept[i - 1] ?? item(i);
      };
    }
    case "records": {
      const all = rows();
      const first = (count: number) => ({ records: all.slice(0, within("count", count, all.length)) });
      const kept = first(n);
      return (request) => {
        const count = whole(request, "count");
        return count === n ? kept : first(count);
      };
    }
    case "profile":
      return (request) => ({ info: profile(whole(request, "userId")) });
    case "followers":
      return (request) => {
        const begin = whole(request, "userId") + FIRST_FOLLOWER;
        return { userId: Array.from({ length: n }, (_, index) => begin + index) };
      };
    case "own":
      throw new Error("the workload own has a sample and no handler");
  }
}

export function within(name: string, value: number, most: number, least = 0): number {
  if (value >= least && value <= most) return value;
  throw new BadRequest(`${name} is ${value}: it must be ${least} to ${most}`);
}

/** Checks the id in a request for a single item. */
export function idOfItem(id: number): number {
  return within("id", id, MAX_ITEMS, 1);
}

/** Reads an integer field: a number, or a string as for 64-bit integers in proto3 JSON. */
function whole(message: Json, name: string): number {
  const value = message[name] ?? 0;
  const number = typeof value === "string" ? Number(value) : value;
  if (Number.isSafeInteger(number) && value !== "") return number as number;
  throw new BadRequest(`${name} is ${JSON.stringify(value)}: it must be an integer`);
}

function typed<T>(message: Json, name: string, otherwise: T): T {
  const value = message[name] ?? otherwise;
  if (typeof value === typeof otherwise && Array.isArray(value) === Array.isArray(otherwise)) {
    return value as T;
  }
  throw new BadRequest(`${name} cannot be ${JSON.stringify(value)}`);
}

function echo(request: Json): Json {
  const list = typed<unknown[]>(request, "list", []);
  if (list.some((element) => typeof element !== "string")) {
    throw new BadRequest("list contains an element that is not a string");
  }
  return {
    floatData: typed(request, "floatData", 0),
    doubleData: typed(request, "doubleData", 0),
    intData: whole(request, "intData"),
    longData: whole(request, "longData"),
    boolData: typed(request, "boolData", false),
    stringData: typed(request, "stringData", ""),
    list,
  };
}

export function items(n: number): Item[] {
  return Array.from({ length: n }, (_, index) => item(index + 1));
}

export function item(i: number): Item {
  return {
    id: i,
    common: { id: i },
    message: {
      double: i + 0.5,
      float: i + 0.5,
      int: i,
      long: i,
      boolean: true,
      string: `string${i}`,
      enum: "ONE",
      map: { [`key${i}`]: i },
    },
    description: `description${i}`,
  };
}

function profile(user: number): Json {
  return { id: user, email: `m${user}@uni.edu`, profileImage: `${user}.png`, nickname: `m${user}` };
}

const COLUMNS = [
  "airportName", "aircraftMakeModel", "effectAmountOfDamage", "flightDate", "aircraftAirlineOperator",
  "originState", "phaseOfFlight", "wildlifeSize", "wildlifeSpecies", "timeOfDay", "costOther",
  "costRepair", "costTotal", "speedIasInKnots",
];
const FIRST_NUMBER = COLUMNS.indexOf("costOther");

/** Returns the rows of `records`. The file has no quoted cells; an empty cell is an absent field. */
export function rows(): Json[] {
  const file = new URL("../contract/data/birdstrikes.csv", import.meta.url);
  const [, ...lines] = readFileSync(file, "utf8").trimEnd().split(/\r?\n/);
  return lines.map((line) => {
    const cells = line.split(",").map((cell, column) => [
      COLUMNS[column],
      cell === "" || column < FIRST_NUMBER ? cell : Number(cell),
    ]);
    return Object.fromEntries(cells.filter(([, cell]) => cell !== "")) as Json;
  });
}

/**
 * Converts a sample to the form that a program without protobuf would use, with 64-bit integers as numbers. `msgpack`
 * also has native forms for bytes and floats.
 */
export function fromSample(
  es: Es,
  workload: Workload,
  typeName: string,
  sample: unknown,
  form: "json" | "msgpack",
): Json {
  // A user's own sample already has the form of its encoding.
  if (form === "json" && workload.own !== undefined) return sample as Json;
  const type = es.schema(typeName);
  // Samples of built-in workloads usually have this form. For a long sample, the library would take many times longer.
  if (workload.own === undefined && isNative(type, sample)) return sample;
  const mapped = es.toJson(typeName, es.fromJson(typeName, sample));
  return native(type, mapped, form === "msgpack");
}

const WIDE: Scalar[] = [3, 4, 6, 16, 18];
const FLOATS: Scalar[] = [1, 2];
const BOOL: Scalar = 8;
const TEXT: Scalar = 9;
const BYTES: Scalar = 12;

/** Whether a message already has the form that `native` produces: JSON names, and numbers as numbers. */
function isNative(type: DescMessage, message: unknown): message is Json {
  if (!isObject(message) || hasOwnForm(type)) return false;
  return Object.entries(message).every(([name, value]) => {
    const field = type.fields.find((each) => each.jsonName === name);
    const one = (element: unknown) => field !== undefined && isNativeValue(field, element);
    switch (field?.fieldKind) {
      case "list":
        return Array.isArray(value) && value.every(one);
      case "map":
        return field.mapKey === TEXT && isObject(value) && Object.values(value).every(one);
      default:
        return one(value);
    }
  });
}

function isNativeValue(field: DescField, value: unknown): boolean {
  if (field.message !== undefined) return isNative(field.message, value);
  if (field.enum !== undefined) return field.enum.values.some(({ name }) => name === value);
  switch (field.scalar) {
    case BOOL:
      return typeof value === "boolean";
    case TEXT:
      return typeof value === "string";
    case BYTES:
      return false;
  }
  if (FLOATS.includes(field.scalar as Scalar)) return typeof value === "number";
  const wide = WIDE.includes(field.scalar as Scalar);
  return wide ? Number.isSafeInteger(value) : value === Number(value) >> 0;
}

function native(type: DescMessage, message: Json, binary: boolean): Json {
  if (hasOwnForm(type)) return message;
  const fields = new Map(type.fields.map((field) => [field.jsonName, field]));
  const entries = Object.entries(message).map(([name, value]) => {
    const field = fields.get(name);
    return [name, field === undefined ? value : nativeField(field, value, binary)];
  });
  return Object.fromEntries(entries) as Json;
}

function nativeField(field: DescField, value: unknown, binary: boolean): unknown {
  const one = (element: unknown): unknown =>
    field.message === undefined
      ? scalar(field.scalar, element, binary)
      : native(field.message, element as Json, binary);
  switch (field.fieldKind) {
    case "list":
      return (value as unknown[]).map(one);
    case "map":
      return Object.fromEntries(Object.entries(value as Json).map(([key, each]) => [key, one(each)]));
    default:
      return one(value);
  }
}

function scalar(kind: Scalar | undefined, value: unknown, binary: boolean): unknown {
  if (typeof value !== "string" || kind === undefined) return value;
  if (WIDE.includes(kind)) {
    const number = Number(value);
    return Number.isSafeInteger(number) || !binary ? number : BigInt(value);
  }
  if (binary && FLOATS.includes(kind)) return Number(value);
  if (binary && kind === BYTES) return Buffer.from(value, "base64");
  return value;
}

/** Converts a decoded message to the proto3 JSON mapping. */
export function toSample(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(toSample);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toSample(each)]));
  }
  return value;
}
