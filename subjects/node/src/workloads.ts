/** The workloads: their paths and the types of their messages. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Refused } from "./refused.js";
import { anySample, integer, type Json, object, oneOf, text } from "./shape.js";

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

export const EVERY_WORKLOAD: readonly string[] = [...Object.keys(BUILT_IN), "own"];

const own = object({
  name: oneOf("own"),
  descriptor_set: text,
  method: text,
  request: anySample,
  response: anySample,
});

/** Returns the workload of a settings line, with the messages in the given folder. */
export function find(asked: Json, messages: string): Workload {
  const where = "the workload";
  if (asked.name === "own") {
    const { method, request, response } = own(asked, where);
    const path = `/${method}`;
    const types = typesOf(path, messages);
    const rest = { name: "own", n: 0, restPath: path, grpcPath: path } as const;
    return { ...rest, ...types, messages, own: { request, response } };
  }
  const name = oneOf(...(Object.keys(BUILT_IN) as (keyof typeof BUILT_IN)[]))(asked.name, where);
  const { restPath, grpcPath, sized } = BUILT_IN[name];
  const n = sized ? object({ name: text, n: integer(0) })(asked, where).n : 0;
  if (!sized) object({ name: text })(asked, where);
  return { name, n, restPath, grpcPath, ...typesOf(grpcPath, messages), messages, own: undefined };
}

interface Method {
  path: string;
  request: string;
  response: string;
}

function typesOf(path: string, messages: string): { request: string; response: string } {
  const file = join(messages, "files.json");
  const { methods } = JSON.parse(readFileSync(file, "utf8")) as { methods: Method[] };
  const method = methods.find((each) => each.path === path);
  if (method === undefined) throw new Refused(`${file} has no method ${path}`, "instrument");
  return { request: method.request, response: method.response };
}
