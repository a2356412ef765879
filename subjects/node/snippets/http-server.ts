import { createServer, type Server, type ServerResponse } from "node:http";

/** Makes a server that answers each POST in JSON, such as `jsonServer(answer).listen(8080)`. */
export function jsonServer(answer: (message: unknown) => unknown): Server {
  // The client closes connections. By default the server does after 5 s, while the client may be sending a request.
  return createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      let message: unknown;
      try {
        message = JSON.parse(Buffer.concat(chunks).toString());
      } catch {
        return end(response, 400, "the body is not JSON");
      }
      try {
        end(response, 200, answer(message));
      } catch (error) {
        console.error(error);
        end(response, 500, "internal error");
      }
    });
  });
}

function end(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
