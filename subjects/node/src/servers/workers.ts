/**
 * A server in several processes, by node:cluster: each worker serves whole connections, which the first
 * process hands to them in turn. It does nothing else, and its workers end with it.
 */

import cluster from "node:cluster";
import process from "node:process";

import type { ServerSettings } from "../contract.js";
import { blamed, type Fault, Refused } from "../refused.js";
import type { ReadyPart } from "../conversation.js";
import { removeSocket, type Server } from "./server.js";

/** What a worker says: that it listens to messages, and then what came of the settings. */
type Reply = { up: true } | ReadyPart | { error: string; fault: Fault };

const STDERR = 2;

export async function serveInWorkers(settings: ServerSettings): Promise<Server> {
  // Standard input and output are the first process's.
  cluster.setupPrimary({ stdio: ["ignore", STDERR, STDERR, "ipc"] });
  const started = Array.from({ length: settings.threads }, () => start(settings));
  const [server] = await Promise.all(started);
  return { ...(server as ReadyPart), close: () => removeSocket(settings.listen) };
}

function start(settings: ServerSettings): Promise<ReadyPart> {
  return new Promise((done, fail) => {
    const worker = cluster.fork();
    worker.on("message", (reply: Reply) => {
      if ("up" in reply) worker.send(settings);
      else if ("error" in reply) fail(new Refused(reply.error, reply.fault));
      else done(reply);
    });
    worker.once("exit", (code) => fail(new Refused(`a worker ended with ${code}`, "subject")));
  });
}

/** A worker's life. `serve` serves as the settings ask. */
export function work(serve: (settings: ServerSettings) => Promise<Server>): void {
  const reply = (said: Reply): void => void process.send?.(said);
  process.once("message", (settings: ServerSettings) => {
    serve(settings).then(
      ({ address, versions, code }) => reply({ address, versions, code }),
      (error: unknown) => {
        const { message, fault } = blamed(error);
        reply({ error: message, fault });
      },
    );
  });
  reply({ up: true });
}
