/** The workloads: their paths and the types of their messages. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Settings } from "./contract.js";
import { Refused } from "./refused.js";
import { anySample, integer, object, oneOf, text } from "./shape.js";

/** The user's samples, in the proto3 JSON mapping. */
export interface Own {
  request: unknown;
  response: unknown;
}

export interface Workload {
  name: WorkloadName;
  /** The number of items, if the workload has a size. */
  n: number;
  restPath: string;
  /** `/package.Service/Method`. */
  grpcPath: string;
  /** The full names of the messages. */
  request: string;
  response: string;
  /** The folder of the generated code for the messages. */
  messages: string;
  own: Own | undefined;
}

const BUILT_IN = {
  echo: { restPath: "/several/data", grpcPath: "/several.SeveralService/GetSeveralData", sized: true },
  hello: { restPath: "/hello", grpcPath: "/hello.Hello/SayHello", sized: false },
  list: { restPath: "/example/list", grpcPath: "/ExampleService/ExampleResponse1List", sized: true },
  items: { restPath: "/items", grpcPath: "/ItemService/GetItem", sized: false },
  records: { restPath: "/records", grpcPath: "/records.RecordService/GetRecords", sized: true },
  profile: {
    restPath: "/members/profile",
    grpcPath: "/GetMemberProfileService/GetMemberProfileCall",
    sized: false,
  },
  followers: {
    restPath: "/members/followers",
    grpcPath: "/GetFollowerService/GetFollowerCall",
    sized: true,
  },
} as const;

export type WorkloadName = keyof typeof BUILT_IN | "own";

/** The methods of `items` that stream, by their form. */
const ITEMS_METHODS: Record<string, string> = {
  client: "/ItemService/PutItems",
  server: "/ItemService/ListItems",
  bidirectional: "/ItemService/ExchangeItems",
};

export const STREAMING_WORKLOADS: readonly string[] = ["items", "own"];

export const EVERY_WORKLOAD: readonly string[] = [...Object.keys(BUILT_IN), "own"];

const WHERE = "the workload";

const own = object({
  name: oneOf("own"),
  descriptor_set: text,
  method: text,
  request: anySample,
  response: anySample,
});

/** Returns the workload of the settings, with the messages in the given folder. */
export function find(settings: Settings, messages: string): Workload {
  const { workload: asked } = settings;
  const form = settings.role === "codec" ? undefined : settings.stream?.form;
  if (asked.name === "own") {
    const sample = own(asked, WHERE);
    const path = `/${sample.method}`;
    const method = methodOf(path, messages);
    // REST and codecs use only the messages of the method.
    if (settings.role !== "codec" && settings.protocol !== "rest") checkForm(method, form);
    const { request, response } = method;
    return { name: "own", n: 0, restPath: path, grpcPath: path, request, response, messages, own: sample };
  }
  const name = oneOf(...(Object.keys(BUILT_IN) as (keyof typeof BUILT_IN)[]))(asked.name, WHERE);
  const { restPath, grpcPath: unaryPath, sized } = BUILT_IN[name];
  const grpcPath = form === undefined ? unaryPath : (ITEMS_METHODS[form] ?? unaryPath);
  const { request, response } = methodOf(grpcPath, messages);
  const n = sized ? object({ name: text, n: integer(0) })(asked, WHERE).n : 0;
  if (!sized) object({ name: text })(asked, WHERE);
  return { name, n, restPath, grpcPath, request, response, messages, own: undefined };
}

function checkForm({ path, stream }: Method, form: string | undefined): void {
  if (stream === form) return;
  const kind = (form?: string) => (form === undefined ? "unary" : `a ${form} stream`);
  throw new Refused(`the method ${path} is ${kind(stream)}, not ${kind(form)}`, "user");
}

interface Method {
  path: string;
  request: string;
  response: string;
  /** Its form if it streams. */
  stream?: string;
}

function methodOf(path: string, messages: string): Method {
  const file = join(messages, "files.json");
  const { methods } = JSON.parse(readFileSync(file, "utf8")) as { methods: Method[] };
  const method = methods.find((each) => each.path === path);
  if (method === undefined) throw new Refused(`${file} has no method ${path}`, "instrument");
  return method;
}
