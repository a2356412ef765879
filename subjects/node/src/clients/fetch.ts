/** Stack `fetch`: Node's built-in fetch (undici) with JSON. */

import process from "node:process";
import { promisify } from "node:util";

import { Agent, buildConnector } from "undici";

import { compress, levelOf } from "../compression.js";
import type { ClientSettings } from "../contract.js";
import { toSample } from "../plain.js";
import type { Json } from "../shape.js";
import { NOT_KNOWN, now, type Stamps } from "../slices.js";
import { version } from "../versions.js";
import type { Workload } from "../workloads.js";
import type { Done, UnaryLibrary } from "./client.js";
import { authorityOf, Connections } from "./connections.js";
import { headersOf, readMarks, requestsOf } from "./plain.js";

/** Connections stay open between slices; the library would close them after 4 seconds. */
const KEPT_MS = 600_000;

const compressed = promisify(compress);

/** Gives the library a connection that is already open. */
function connector(connections: Connections): buildConnector.connector {
  return (_, done) => {
    const socket = connections.take();
    if (!socket.connecting) return done(null, socket);
    socket.once("connect", () => done(null, socket));
    socket.once("error", (error) => done(error, null));
  };
}

export async function load(settings: ClientSettings, workload: Workload): Promise<UnaryLibrary<Json>> {
  const connections = new Connections(settings);
  // Not the global dispatcher, because each part of a process has its own.
  const dispatcher = new Agent({
    connect: connector(connections),
    // By default the library would open another connection if a call begins when the previous one ends.
    connections: settings.in_flight,
    // With 0, the library does not reuse connections.
    pipelining: settings.connection === "reuse" ? 1 : 0,
    keepAliveTimeout: KEPT_MS,
    headersTimeout: settings.deadline_ms,
    bodyTimeout: settings.deadline_ms,
    maxResponseSize: settings.limits.max_message_bytes,
  });
  const url = `http://${authorityOf(settings.address)}${workload.restPath}`;
  const level = levelOf(settings.request_compression);
  const asks = levelOf(settings.response_compression) > 0;
  const headers = headersOf(settings);

  async function exchange(message: Json, stamps: Stamps): Promise<Json> {
    const text = JSON.stringify(message);
    const body = level === 0 ? text : await compressed(text, level);
    stamps.encoded = now();
    const response = await fetch(url, { method: "POST", headers, body, dispatcher });
    stamps.first = now();
    const received = await response.text();
    // With gzip, the library decompresses while reading, so the end of the bytes cannot be observed.
    if (!asks) stamps.received = now();
    if (!response.ok) throw new Error(`${response.status}: ${received}`);
    const decoded = JSON.parse(received) as Json;
    stamps.end = now();
    stamps.requestBytes = Buffer.byteLength(body);
    stamps.responseBytes = Number(response.headers.get("content-length") ?? NOT_KNOWN);
    if (settings.marks) readMarks(stamps, (name) => response.headers.get(name));
    return decoded;
  }

  const call = (message: Json, stamps: Stamps, done: Done<Json>): void => {
    exchange(message, stamps).then(
      (response) => done(undefined, response),
      // The actual error is the cause of `fetch failed`.
      (error: Error) => done(error.cause ?? error),
    );
  };
  const requests = await requestsOf(settings, workload);
  const toJson = (response: Json) => toSample(response) as Json;
  const connect = () => connections.fill();
  const versions = { fetch: `undici ${process.versions.undici}`, undici: version("undici") };
  return { versions, requests, call, toJson, connect };
}
