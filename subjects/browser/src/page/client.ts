/** Clients. They call the server of the page's own origin. */

import type { DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { createConnectTransport } from "@connectrpc/connect-web";

import { fromBase64, JSON_TYPE, type Library, toBase64, type Type } from "./library.js";
import type { ClientTask, Row, Slice } from "./task.js";

/** The headers that a server adds to a response for `marks`. */
const HANDLER_START = "rpcgauge-handler-start";
const HANDLER_END = "rpcgauge-handler-end";

/** Makes one call, and writes to the row what the library exposes of it; `begin` is already there. */
type Call = (request: any, row: Row) => Promise<unknown>;

/** A library that makes calls. */
interface Caller {
  call: Call;
  request: Type;
  /** The type in the encoding in which it is sent. */
  sent: Type;
  response: Type;
}

interface Request {
  message: unknown;
  bytes: number;
}

export class Client {
  private readonly requests: Request[];
  private next = 0;

  private constructor(
    private readonly caller: Caller,
    private readonly task: ClientTask,
  ) {
    this.requests = task.requests.map((encoded) => {
      const message: unknown = caller.request.decode(fromBase64(encoded));
      return { message, bytes: caller.sent.encode(message).length };
    });
  }

  static of(library: Library, task: ClientTask): Client {
    return new Client(task.stack === "fetch" ? fetching(task) : connecting(library, task), task);
  }

  async prove(): Promise<string> {
    const response = await this.caller.call(this.requests[0]?.message, { begin: performance.now(), end: 0 });
    return toBase64(this.caller.response.encode(response));
  }

  async run({ calls, time }: Slice): Promise<Row[]> {
    const rows: Row[] = [];
    const until = performance.now() + time;
    const isOver = () => rows.length > 0 && (calls > 0 ? rows.length >= calls : performance.now() >= until);
    const lane = async (): Promise<void> => {
      while (!isOver()) {
        const { message, bytes } = this.requests[this.next] as Request;
        this.next = (this.next + 1) % this.requests.length;
        const row: Row = { begin: performance.now(), end: 0, requestBytes: bytes };
        rows.push(row);
        try {
          await this.caller.call(message, row);
          row.end ||= performance.now();
        } catch (error) {
          row.end = performance.now();
          row.error = String(error);
        }
      }
    };
    await Promise.all(Array.from({ length: this.task.inFlight }, lane));
    return rows;
  }
}

/** fetch with JSON. */
function fetching({ path, deadlineMs, marks }: ClientTask): Caller {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const call: Call = async (request, row) => {
    const body = JSON.stringify(request);
    row.encoded = performance.now();
    const signal = AbortSignal.timeout(deadlineMs);
    const response = await fetch(path, { method: "POST", headers, body, signal });
    row.first = performance.now();
    const received = await response.text();
    row.received = performance.now();
    if (!response.ok) throw new Error(`${response.status}: ${received}`);
    const decoded: unknown = JSON.parse(received);
    row.end = performance.now();
    readHeaders(row, response.headers, marks);
    return decoded;
  };
  return { call, request: JSON_TYPE, sent: JSON_TYPE, response: JSON_TYPE };
}

/** connect-web, with its Connect protocol. */
function connecting(library: Library, task: ClientTask): Caller {
  const method = methodOf(library, task.path);
  const transport = createConnectTransport({
    baseUrl: location.origin,
    useBinaryFormat: task.encoding === "protobuf",
    defaultTimeoutMs: task.deadlineMs,
    jsonOptions: { registry: library.registry },
  });
  const call: Call = async (request: Message, row) => {
    const { header, message } = await transport.unary(
      method as DescMethod & { methodKind: "unary" },
      undefined,
      undefined,
      undefined,
      request,
    );
    row.end = performance.now();
    readHeaders(row, header, task.marks);
    return message;
  };
  const type = ({ typeName }: DescMessage, encoding = "protobuf") => library.type("protobuf-es", encoding, typeName);
  const { input, output } = method;
  return { call, request: type(input), sent: type(input, task.encoding), response: type(output) };
}

function methodOf(library: Library, path: string): DescMethod {
  const [, service, name] = path.split("/");
  const methods = library.registry.getService(service ?? "")?.methods;
  const found = methods?.find((method) => method.name === name);
  if (found === undefined) throw new Error(`protobuf-es generated no code for ${path}`);
  return found;
}

function readHeaders(row: Row, headers: Headers, marks: boolean): void {
  const length = headers.get("content-length");
  if (length !== null) row.responseBytes = Number(length);
  if (!marks) return;
  row.handlerStart = Number(headers.get(HANDLER_START) ?? 0);
  row.handlerEnd = Number(headers.get(HANDLER_END) ?? 0);
}
