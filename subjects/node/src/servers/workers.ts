/**
 * A server in several processes, using node:cluster: each worker serves whole connections, which the first process
 * distributes round-robin. The first process does nothing else, and its workers exit with it.
 */

import cluster from "node:cluster";
import process from "node:process";

import type { ServerSettings } from "../contract.js";
import { blamed, type Fault, Refused } from "../refused.js";
import type { ReadyPart } from "../conversation.js";
import { removeSocket, type Server } from "./server.js";

/** A message from a worker: first that it is ready for messages, then the result of applying the settings. */
type Reply = { up: true } | ReadyPart | { error: string; fault: Fault };

const STDERR = 2;

export async function serveInWorkers(settings: ServerSettings): Promise<Server> {
  // Only the first process uses standard input and output.
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
    worker.once("exit", (code) => fail(new Refused(`a worker exited with ${code}`, "subject")));
  });
}

/** Runs a worker. `serve` starts a server with the given settings. */
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
