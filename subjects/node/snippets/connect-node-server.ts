import { createServer, type Http2Server } from "node:http2";

import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

/** Makes a server over HTTP/2, such as `server((router) => router.service(Orders, orders)).listen(50051)`. */
export function server(routes: (router: ConnectRouter) => void): Http2Server {
  // By default the library compresses for every client that accepts it.
  return createServer(connectNodeAdapter({ routes, acceptCompression: [] }));
}
