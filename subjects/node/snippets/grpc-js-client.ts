import * as grpc from "@grpc/grpc-js";

/**
 * Makes the one client for all calls of the process, such as `connect(OrdersClient, "shop:50051")`. It connects at the
 * first call, and keeps its connection.
 */
export function connect<C>(Client: new (address: string, credentials: grpc.ChannelCredentials) => C, address: string): C {
  return new Client(address, grpc.credentials.createInsecure());
}
