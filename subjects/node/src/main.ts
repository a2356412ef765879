/** Follows the contract on standard input and output, in the role given by the settings line. */

import cluster from "node:cluster";

import {
  type ClientSettings, type CodecSettings, parseSettings, type ServerSettings, type Settings,
} from "./contract.js";
import type { Conversation } from "./conversation.js";
import { messagesFolder, run } from "./program.js";
import { Refused } from "./refused.js";
import type { Server } from "./servers/server.js";
import { serveInWorkers, work } from "./servers/workers.js";
import { answer, type Measurer } from "./slices.js";
import { choose, STACKS } from "./stacks.js";
import { find } from "./workloads.js";

function understand(settings: Settings) {
  return { stack: choose(STACKS, settings), workload: find(settings, messagesFolder()) };
}

async function play(conversation: Conversation): Promise<void> {
  const line = await conversation.hear();
  if (line === undefined) return;
  const { role, parts } = parseSettings(line);
  switch (role) {
    case "server":
      return serveAll(conversation, parts);
    case "client":
      return answer(conversation, parts, prepare);
    case "codec":
      return answer(conversation, parts, prepareCodec);
  }
}

async function serveAll(conversation: Conversation, parts: ServerSettings[]): Promise<void> {
  if (parts.length > 1 && parts.some(({ threads }) => threads > 1)) {
    throw new Refused("parts share a process only with 1 thread", "user");
  }
  const servers: Server[] = [];
  try {
    for (const settings of parts) servers.push(await serve(settings));
    conversation.tellReady(servers);
    await conversation.hearTheEnd();
  } finally {
    servers.forEach((server) => server.close());
  }
}

// Modules that a stack does not use are not imported, because they would add to its memory and start-up time.

async function serve(settings: ServerSettings): Promise<Server> {
  const { stack, workload } = understand(settings);
  if (settings.threads > 1 && cluster.isPrimary) return serveInWorkers(settings);
  switch (stack) {
    case "http":
      return (await import("./servers/http.js")).serve(settings, workload);
    case "fastify":
      return (await import("./servers/fastify.js")).serve(settings, workload);
    case "grpc-js":
      return (await import("./servers/grpc-js.js")).serve(settings, workload);
    default:
      return (await import("./servers/connect-node.js")).serve(settings, workload);
  }
}

async function prepare(settings: ClientSettings): Promise<Measurer> {
  const { stack, workload } = understand(settings);
  const { Client } = await import("./clients/client.js");
  switch (stack) {
    case "http": {
      const { load } = await import("./clients/http.js");
      return Client.of(settings, await load(settings, workload));
    }
    case "fetch": {
      const { load } = await import("./clients/fetch.js");
      return Client.of(settings, await load(settings, workload));
    }
    case "grpc-js":
    case "grpc-js-gzip": {
      const { load } = await import("./clients/grpc-js.js");
      return Client.of(settings, await load(settings, workload));
    }
    default: {
      const { load } = await import("./clients/connect-node.js");
      return Client.of(settings, await load(settings, workload));
    }
  }
}

async function prepareCodec(settings: CodecSettings): Promise<Measurer> {
  const { stack, workload } = understand(settings);
  const { Codec, load } = await import("./codecs.js");
  return new Codec(await load(stack, settings, workload), settings);
}

if (cluster.isWorker) {
  work(serve);
} else {
  run(play);
}
