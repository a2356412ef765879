import { createServer, type Http2Server } from "node:http2";

import type { ConnectRouter } from "@connectrpc/connect";
import { compressionGzip, connectNodeAdapter } from "@connectrpc/connect-node";

/** Makes a server over HTTP/2, such as `gzipServer((router) => router.service(Orders, orders)).listen(50051)`. */
export function gzipServer(routes: (router: ConnectRouter) => void): Http2Server {
  // By default, messages below 1,024 bytes are not compressed.
  return createServer(connectNodeAdapter({ routes, acceptCompression: [compressionGzip], compressMinBytes: 0 }));
}
