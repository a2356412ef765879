import { Agent, request } from "node:http";

/** The agent of all calls. `maxSockets` is how many are made at the same time. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Posts a message as JSON over a connection that is kept. */
export function post(url: string, message: unknown): Promise<unknown> {
  const body = Buffer.from(JSON.stringify(message));
  const headers = { "content-type": "application/json", "content-length": body.length };
  return new Promise((done, fail) => {
    const call = request(url, { method: "POST", agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", fail);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) done(JSON.parse(text));
        else fail(new Error(`${response.statusCode}: ${text}`));
      });
    });
    call.on("error", fail);
    call.end(body);
  });
}
