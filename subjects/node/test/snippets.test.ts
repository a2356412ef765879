/** The snippets work as they are: each server is called by each client that fits. */

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Http2Session } from "node:http2";
import { type AddressInfo, connect as connectSocket, createServer, type Server } from "node:net";
import { test } from "node:test";

import type { DescMethodUnary } from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import * as grpc from "@grpc/grpc-js";

import { gzipTransport } from "../snippets/connect-node-client-gzip.js";
import { transport } from "../snippets/connect-node-client.js";
import { gzipServer } from "../snippets/connect-node-server-gzip.js";
import { server as connectServer } from "../snippets/connect-node-server.js";
import { connect } from "../snippets/grpc-js-client.js";
import { connectWithGzip } from "../snippets/grpc-js-gzip-client-gzip.js";
import { serve } from "../snippets/grpc-js-server.js";
import { postGzip } from "../snippets/http-client-gzip.js";
import { post } from "../snippets/http-client.js";
import { gzipJsonServer } from "../snippets/http-server-gzip.js";
import { jsonServer } from "../snippets/http-server.js";

const long = "text".repeat(1_000);

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

/** Relays one connection to a port. Returns what it carried, and the port to connect to. */
async function relayed(port: number): Promise<[Buffer[], number]> {
  const carried: Buffer[] = [];
  const relay = createServer((client) => {
    const server = connectSocket(port, "127.0.0.1");
    for (const [one, other] of [[client, server], [server, client]] as const) {
      one.on("data", (bytes) => carried.push(bytes));
      one.on("error", () => other.destroy());
      one.pipe(other);
    }
    relay.close();
  });
  await once(relay.listen(0, "127.0.0.1"), "listening");
  return [carried, (relay.address() as AddressInfo).port];
}

/** How many uncompressed messages of `long` were carried. */
function plainMessages(carried: Buffer[]): number {
  return Math.round(Buffer.concat(carried).length / long.length);
}

for (const [server, client, messages] of [
  [jsonServer, post, 2],
  [gzipJsonServer, post, 2],
  [gzipJsonServer, postGzip, 0],
] as const) {
  test(`${server.name} answers ${client.name}`, async () => {
    const started = server((message) => message);
    const [carried, port] = await relayed(await listening(started));
    assert.equal(await client(`http://127.0.0.1:${port}`, long), long);
    assert.equal(plainMessages(carried), messages);
    started.closeAllConnections();
    started.close();
  });
}

test("an error of the service is not the fault of the request", async () => {
  const server = jsonServer(() => {
    throw new Error("a fault");
  });
  const url = `http://127.0.0.1:${await listening(server)}`;
  await assert.rejects(post(url, long), /500: "internal error"/);
  server.closeAllConnections();
  server.close();
});

const echo: grpc.ServiceDefinition = {
  echo: {
    path: "/test.Echo/Echo",
    requestStream: false,
    responseStream: false,
    requestSerialize: (text: string) => Buffer.from(text),
    requestDeserialize: (bytes: Buffer) => bytes.toString(),
    responseSerialize: (text: string) => Buffer.from(text),
    responseDeserialize: (bytes: Buffer) => bytes.toString(),
  },
};

type Echo = grpc.Client & {
  echo(text: string, done: (error: grpc.ServiceError | null, text?: string) => void): void;
};

const Client = grpc.makeGenericClientConstructor(echo, "Echo") as unknown as new (
  ...args: ConstructorParameters<typeof grpc.Client>
) => Echo;

// The library's server never compresses.
for (const [client, messages] of [
  [connect, 2],
  [connectWithGzip, 1],
] as const) {
  test(`grpc-js answers ${client.name}`, async () => {
    const respond = (call: grpc.ServerUnaryCall<string, string>, done: grpc.sendUnaryData<string>): void => {
      done(null, call.request);
    };
    const [server, port] = await serve(echo, { echo: respond }, "127.0.0.1:0");
    const [carried, relay] = await relayed(port);
    const connected: Echo = client(Client, `127.0.0.1:${relay}`);
    const text = await new Promise((done, fail) => {
      connected.echo(long, (error, text) => (error ? fail(error) : done(text)));
    });
    assert.equal(text, long);
    assert.equal(plainMessages(carried), messages);
    connected.close();
    server.forceShutdown();
  });
}

const rpc = {
  kind: "rpc",
  name: "Echo",
  localName: "echo",
  parent: { typeName: "test.Echo" },
  methodKind: "unary",
  input: StringValueSchema,
  output: StringValueSchema,
  idempotency: 0,
} as unknown as DescMethodUnary;

for (const [server, client, messages] of [
  [connectServer, transport, 2],
  [gzipServer, transport, 2],
  [gzipServer, gzipTransport, 0],
] as const) {
  test(`connect-node's ${server.name} answers ${client.name}`, async () => {
    const started = server((router) => {
      router.rpc(rpc, (request) => request);
    });
    const sessions: Http2Session[] = [];
    started.on("session", (session) => sessions.push(session));
    const [carried, port] = await relayed(await listening(started as unknown as Server));
    const called = client(`http://127.0.0.1:${port}`);
    const response = await called.unary(rpc, undefined, undefined, undefined, { value: long } as Record<string, unknown>);
    assert.equal((response.message as { value?: string }).value, long);
    assert.equal(plainMessages(carried), messages);
    for (const session of sessions) session.destroy();
    started.close();
  });
}
