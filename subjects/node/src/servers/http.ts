/** Stack `http`, server: node:http with JSON. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import { compress, decompress, levelOf } from "../compression.js";
import { HANDLER_END, HANDLER_START, type ServerSettings } from "../contract.js";
import { BadRequest, type Handler } from "../plain.js";
import { oneLine } from "../refused.js";
import { isObject, type Json } from "../shape.js";
import { now } from "../slices.js";
import type { Workload } from "../workloads.js";
import { plainHandler } from "./plain.js";
import { listenOn, removeSocket, type Server } from "./server.js";

const BAD_REQUEST = 400;
const NOT_FOUND = 404;
const NOT_ACCEPTABLE = 406;
const TOO_LARGE = 413;
const UNSUPPORTED_MEDIA_TYPE = 415;

export async function serve(settings: ServerSettings, workload: Workload): Promise<Server> {
  const service = new Service(settings, workload, await plainHandler(workload));
  // Connections stay open until the client closes them.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    service.respond(request, response);
  });
  const address = await listenOn(server, settings.listen);
  return { address, versions: {}, close: () => removeSocket(settings.listen) };
}

class Service {
  private readonly level: number;

  constructor(
    private readonly settings: ServerSettings,
    private readonly workload: Workload,
    private readonly handle: Handler<Json>,
  ) {
    this.level = levelOf(settings.response_compression);
  }

  respond(request: IncomingMessage, response: ServerResponse): void {
    const { limits } = this.settings;
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limits.max_message_bytes) chunks.push(chunk);
    });
    request.on("end", () => {
      const refusal = this.refusal(request);
      if (refusal !== undefined) return refuse(response, ...refusal);
      if (size > limits.max_message_bytes) {
        return refuse(response, TOO_LARGE, `at most ${limits.max_message_bytes} bytes are accepted`);
      }
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      if (request.headers["content-encoding"] !== "gzip") return this.answer(body, request, response);
      decompress(body, limits, (error, plain) => {
        if (error) refuse(response, BAD_REQUEST, `the body is not gzip: ${error.message}`);
        else this.answer(plain, request, response);
      });
    });
  }

  /** Returns why a request cannot be answered regardless of its message, if so. */
  private refusal({ method, url, headers }: IncomingMessage): [number, string] | undefined {
    if (method !== "POST" || url !== this.workload.restPath) {
      return [NOT_FOUND, `there is POST ${this.workload.restPath} only`];
    }
    const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
    if (type !== "application/json") {
      return [UNSUPPORTED_MEDIA_TYPE, "only application/json is accepted"];
    }
    const coding = headers["content-encoding"] ?? "identity";
    if (coding !== "gzip" && coding !== "identity") {
      return [UNSUPPORTED_MEDIA_TYPE, `${coding} is not supported; use gzip`];
    }
    const accept = headers.accept ?? "*/*";
    const accepted = ["application/json", "application/*", "*/*"];
    if (!accepted.some((each) => lists(accept, each))) {
      return [NOT_ACCEPTABLE, "only application/json is served"];
    }
    return undefined;
  }

  private answer(body: Buffer, request: IncomingMessage, response: ServerResponse): void {
    let message: Json;
    let start: bigint;
    let end: bigint;
    try {
      const decoded: unknown = JSON.parse(body.toString());
      // A user's own message may have another form, for example if it is a wrapper.
      if (this.workload.own === undefined && !isObject(decoded)) throw new BadRequest("the body is not a JSON object");
      start = now();
      message = this.handle(decoded as Json);
      end = now();
    } catch (error) {
      return refuse(response, BAD_REQUEST, oneLine(error));
    }
    response.setHeader("Content-Type", "application/json");
    if (this.settings.marks) {
      response.setHeader(HANDLER_START, String(start));
      response.setHeader(HANDLER_END, String(end));
    }
    const text = JSON.stringify(message);
    const accepts = request.headers["accept-encoding"];
    if (this.level === 0 || typeof accepts !== "string" || !lists(accepts, "gzip")) {
      response.end(text);
      return;
    }
    compress(text, this.level, (error, compressed) => {
      if (error) return refuse(response, BAD_REQUEST, oneLine(error));
      response.setHeader("Content-Encoding", "gzip");
      response.end(compressed);
    });
  }
}

function refuse(response: ServerResponse, status: number, detail: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/problem+json");
  response.end(JSON.stringify({ detail }));
}

/** Whether a list header contains the name with a weight other than 0. */
export function lists(header: string, name: string): boolean {
  return header.split(",").some((element) => {
    const [listed, weight] = element.toLowerCase().replaceAll(" ", "").split(";q=");
    return listed === name && (weight === undefined || Number(weight) > 0);
  });
}
