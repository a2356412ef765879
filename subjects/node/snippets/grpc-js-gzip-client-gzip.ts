import * as grpc from "@grpc/grpc-js";

/**
 * Makes the one client for all calls of the process, such as `connectWithGzip(OrdersClient, "shop:50051")`. It compresses
 * requests. The library always accepts compressed responses.
 */
export function connectWithGzip<C>(
  Client: new (address: string, credentials: grpc.ChannelCredentials, options: grpc.ClientOptions) => C,
  address: string,
): C {
  return new Client(address, grpc.credentials.createInsecure(), {
    "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip,
  });
}
