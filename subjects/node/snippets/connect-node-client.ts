import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";

/**
 * Makes what all calls share: `createClient(Orders, transport("http://shop:50051"))`. For Connect's own protocol, take
 * `createConnectTransport` with `httpVersion: "2"`.
 */
export function transport(baseUrl: string): Transport {
  // By default the client accepts gzip and brotli, so that a server of this library compresses.
  return createGrpcTransport({ baseUrl, acceptCompression: [] });
}
