/** Stack `fastify`: Fastify with JSON, and schemas of the messages. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { constants } from "node:zlib";

import compress from "@fastify/compress";
import fastify from "fastify";

import { levelOf } from "../compression.js";
import { HANDLER_END, HANDLER_START, type ServerSettings } from "../contract.js";
import { BadRequest } from "../plain.js";
import { reference, type Schema } from "../schemas.js";
import type { Json } from "../shape.js";
import { now } from "../slices.js";
import { versions } from "../versions.js";
import type { Workload } from "../workloads.js";
import { plainHandler } from "./plain.js";
import { listenOn, removeSocket, type Server } from "./server.js";

const BAD_REQUEST = 400;

export async function serve(settings: ServerSettings, workload: Workload): Promise<Server> {
  const { limits, listen, marks } = settings;
  const handle = await plainHandler(workload);
  // Connections stay open until the client closes them.
  const app = fastify({ bodyLimit: limits.max_message_bytes, keepAliveTimeout: 0 });
  const level = levelOf(settings.response_compression);
  await app.register(compress, {
    global: true,
    globalCompression: level > 0,
    encodings: ["gzip"],
    requestEncodings: ["gzip"],
    threshold: 0,
    zlibOptions: { level: level || constants.Z_DEFAULT_COMPRESSION },
  });
  app.addSchema(schemasOf(workload));
  app.setErrorHandler((error, _, reply) => {
    const status = error instanceof BadRequest ? BAD_REQUEST : undefined;
    void reply.code(status ?? (error as { statusCode?: number }).statusCode ?? 500);
    return { detail: (error as Error).message };
  });
  const schema = {
    body: reference(workload.request),
    response: { 200: reference(workload.response) },
  };
  app.post(workload.restPath, { schema }, (request, reply) => {
    const start = now();
    const response = handle(request.body as Json);
    if (marks) {
      const end = now();
      void reply.header(HANDLER_START, String(start)).header(HANDLER_END, String(end));
    }
    void reply.send(response);
  });
  await app.ready();
  const address = await listenOn(app.server, listen);
  const found = versions("fastify", "@fastify/compress");
  return { address, versions: found, code: "generated", close: () => removeSocket(listen) };
}

function schemasOf(workload: Workload): Schema {
  const file = join(workload.messages, "schemas", "messages.json");
  return JSON.parse(readFileSync(file, "utf8")) as Schema;
}
