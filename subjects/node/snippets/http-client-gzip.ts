import { Agent, request } from "node:http";
import { gunzip, gzip } from "node:zlib";

/** The agent of all calls. `maxSockets` is how many are made at the same time. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Posts a message as JSON in gzip over a connection that is kept, and accepts a response in gzip. */
export function postGzip(url: string, message: unknown): Promise<unknown> {
  return new Promise((done, fail) => {
    const read = (status: number | undefined, body: Buffer): void => {
      const text = body.toString();
      if (status === 200) done(JSON.parse(text));
      else fail(new Error(`${status}: ${text}`));
    };
    // Not gzipSync and gunzipSync, which block all other calls.
    gzip(JSON.stringify(message), (error, body) => {
      if (error) return fail(error);
      const headers = {
        "content-type": "application/json",
        "content-encoding": "gzip",
        "content-length": body.length,
        "accept-encoding": "gzip",
      };
      const call = request(url, { method: "POST", agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", fail);
        response.on("end", () => {
          const received = Buffer.concat(chunks);
          if (response.headers["content-encoding"] !== "gzip") return read(response.statusCode, received);
          gunzip(received, (error, plain) => {
            if (error) fail(error);
            else read(response.statusCode, plain);
          });
        });
      });
      call.on("error", fail);
      call.end(body);
    });
  });
}
