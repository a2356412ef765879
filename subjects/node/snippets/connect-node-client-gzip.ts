import type { Transport } from "@connectrpc/connect";
import { compressionGzip, createGrpcTransport } from "@connectrpc/connect-node";

/**
 * Makes what all calls share: `createClient(Orders, gzipTransport("http://shop:50051"))`. For Connect's own protocol, take
 * `createConnectTransport` with `httpVersion: "2"`. Omit `sendCompression` if only responses are large.
 */
export function gzipTransport(baseUrl: string): Transport {
  return createGrpcTransport({
    baseUrl,
    acceptCompression: [compressionGzip],
    sendCompression: compressionGzip,
    compressMinBytes: 0, // by default, messages below 1,024 bytes are not compressed
  });
}
