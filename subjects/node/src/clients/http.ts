/** Stack `http`, client: node:http with a keep-alive agent, and JSON. */

import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";

import { compress, decompress, levelOf } from "../compression.js";
import type { ClientSettings } from "../contract.js";
import { toSample } from "../plain.js";
import type { Json } from "../shape.js";
import { now, type Stamps } from "../slices.js";
import type { Workload } from "../workloads.js";
import type { Done, UnaryLibrary } from "./client.js";
import { authorityOf, Connections } from "./connections.js";
import { headersOf, readMarks, requestsOf } from "./plain.js";

const OK = 200;

/** An agent that uses the connections that are already open. */
export class KeptAgent extends Agent {
  constructor(
    private readonly connections: Connections,
    settings: ClientSettings,
  ) {
    // In Node, a limit on connections implies keep-alive.
    super(settings.connection === "reuse" ? { keepAlive: true, maxSockets: settings.in_flight } : {});
  }

  override createConnection(): Duplex {
    return this.connections.take();
  }
}

export async function load(settings: ClientSettings, workload: Workload): Promise<UnaryLibrary<Json>> {
  const { limits } = settings;
  const connections = new Connections(settings);
  const level = levelOf(settings.request_compression);
  const authority = new URL(`http://${authorityOf(settings.address)}`);
  const options = {
    method: "POST",
    host: authority.hostname,
    port: authority.port,
    path: workload.restPath,
    agent: new KeptAgent(connections, settings),
    timeout: settings.deadline_ms,
  };
  const headers = headersOf(settings);

  function call(message: Json, stamps: Stamps, done: Done<Json>): void {
    const text = JSON.stringify(message);
    if (level === 0) return send(Buffer.from(text), stamps, done);
    compress(text, level, (error, body) => {
      if (error) done(error);
      else send(body, stamps, done);
    });
  }

  function send(body: Buffer, stamps: Stamps, done: Done<Json>): void {
    stamps.encoded = now();
    stamps.requestBytes = body.length;
    const request = httpRequest({ ...options, headers: { ...headers, "content-length": body.length } });
    request.on("finish", () => {
      // If the response arrives first, the time when the request was sent is unknown.
      if (stamps.first === 0n) stamps.sent = now();
    });
    request.on("timeout", () => request.destroy(new Error(`timed out: no response in ${options.timeout} ms`)));
    request.on("error", done);
    request.on("response", (response) => {
      stamps.first = now();
      receive(response, stamps, done);
    });
    request.end(body);
  }

  function receive(response: IncomingMessage, stamps: Stamps, done: Done<Json>): void {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("error", done);
    response.on("end", () => {
      stamps.received = now();
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      stamps.responseBytes = body.length;
      const { statusCode, headers: received } = response;
      if (statusCode !== OK) {
        return done(new Error(`${statusCode}: ${body.toString()}`));
      }
      if (body.length > limits.max_message_bytes) {
        return done(new Error(`the response has ${body.length} bytes, more than the limit`));
      }
      if (settings.marks) readMarks(stamps, (name) => received[name]);
      if (received["content-encoding"] !== "gzip") return decode(body, stamps, done);
      decompress(body, limits, (error, plain) => {
        if (error) done(error);
        else decode(plain, stamps, done);
      });
    });
  }

  const requests = await requestsOf(settings, workload);
  const toJson = (response: Json) => toSample(response) as Json;
  const connect = () => connections.fill();
  return { versions: {}, requests, call, toJson, connect };
}

function decode(body: Buffer, stamps: Stamps, done: Done<Json>): void {
  let message: Json;
  try {
    message = JSON.parse(body.toString()) as Json;
  } catch (error) {
    return done(error);
  }
  stamps.end = now();
  done(undefined, message);
}
