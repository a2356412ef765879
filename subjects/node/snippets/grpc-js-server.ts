import * as grpc from "@grpc/grpc-js";

/** Serves with the library's defaults, such as `serve(OrdersService, orders, "0.0.0.0:50051")`. Returns the port. */
export function serve<S extends grpc.UntypedServiceImplementation>(
  service: grpc.ServiceDefinition<S>,
  implementation: S,
  address: string,
): Promise<[grpc.Server, number]> {
  const server = new grpc.Server();
  server.addService(service, implementation);
  return new Promise((done, fail) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error) fail(error);
      else done([server, port]);
    });
  });
}
