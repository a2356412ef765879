/** Speaks the contract on standard input and output, in the role that the settings line names. */

import cluster from "node:cluster";
import process from "node:process";
import { parseArgs } from "node:util";

import { type ClientSettings, parseSettings, type ServerSettings } from "./contract.js";
import { Conversation } from "./conversation.js";
import { blamed, EXIT_CODES, Refused } from "./refused.js";
import type { Server } from "./servers/server.js";
import { serveInWorkers, work } from "./servers/workers.js";
import { answer, type Measurer } from "./slices.js";
import { choose } from "./stacks.js";
import { find, type Workload } from "./workloads.js";

/** The folder of the messages' code. */
function messagesFolder(): string {
  const { values } = parseArgs({ options: { messages: { type: "string" } } });
  if (values.messages === undefined) throw new Refused("--messages is missing", "instrument");
  return values.messages;
}

function understand(line: string) {
  const settings = parseSettings(line);
  return { settings, stack: choose(settings), workload: find(settings.workload, messagesFolder()) };
}

async function play(conversation: Conversation): Promise<void> {
  const line = await conversation.hear();
  if (line === undefined) return;
  const { settings, stack, workload } = understand(line);
  switch (settings.role) {
    case "server": {
      const server =
        settings.threads > 1
          ? await serveInWorkers(line, settings)
          : await serve(stack, settings, workload);
      conversation.tellReady(server.versions, server.code, server.address);
      await conversation.hearTheEnd();
      server.close();
      return;
    }
    case "client":
      return answer(conversation, settings.records, () => prepare(stack, settings, workload));
    case "codec": {
      const { Codec, load } = await import("./codecs.js");
      const loaded = async () => new Codec(await load(stack, settings, workload), settings);
      return answer(conversation, settings.records, loaded);
    }
  }
}

// What a stack does not use is not imported: it would be in its memory and its start.

async function serve(stack: string, settings: ServerSettings, workload: Workload): Promise<Server> {
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

async function prepare(
  stack: string,
  settings: ClientSettings,
  workload: Workload,
): Promise<Measurer> {
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

function main(): void {
  const conversation = new Conversation();
  const fail = (error: unknown): never => {
    const refused = blamed(error);
    conversation.tellRefused(refused);
    process.exit(EXIT_CODES[refused.fault]);
  };
  process.on("uncaughtException", fail);
  // Connections that are open do not keep it.
  play(conversation).then(() => process.exit(0), fail);
}

if (cluster.isWorker) {
  work((line) => {
    const { settings, stack, workload } = understand(line);
    return serve(stack, settings as ServerSettings, workload);
  });
} else {
  main();
}
