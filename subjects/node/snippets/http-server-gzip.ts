import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { gunzip, gzip } from "node:zlib";

const MAX_REQUEST_BYTES = 4 << 20;

/** Makes a server that answers each POST in JSON, both in gzip if the client sends it and accepts it. */
export function gzipJsonServer(answer: (message: unknown) => unknown): Server {
  // The client closes connections. By default the server does after 5 s, while the client may be sending a request.
  return createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      if (request.headers["content-encoding"] !== "gzip") return respond(answer, body, request, response);
      // A short request can decompress to a very long one. Not gunzipSync, which blocks all other calls.
      gunzip(body, { maxOutputLength: MAX_REQUEST_BYTES }, (error, plain) => {
        if (error) end(request, response, 400, "the body is not gzip, or too long");
        else respond(answer, plain, request, response);
      });
    });
  });
}

function respond(
  answer: (message: unknown) => unknown,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  let message: unknown;
  try {
    message = JSON.parse(body.toString());
  } catch {
    return end(request, response, 400, "the body is not JSON");
  }
  try {
    end(request, response, 200, answer(message));
  } catch (error) {
    console.error(error);
    end(request, response, 500, "internal error");
  }
}

function end(request: IncomingMessage, response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  response.setHeader("vary", "accept-encoding");
  if (!String(request.headers["accept-encoding"]).includes("gzip")) {
    response.end(text);
    return;
  }
  gzip(text, (error, compressed) => {
    if (error) return response.destroy(error);
    response.setHeader("content-encoding", "gzip");
    response.end(compressed);
  });
}
