import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.grpc.GrpcService;
import io.grpc.BindableService;

class GzipArmeriaServers {
    /**
     * Builds a server that compresses the responses to all clients that accept gzip; start().join() starts it. The event
     * loops run the service, which must not block; if it does, add useBlockingTaskExecutor(true) to the GrpcService.
     */
    static Server of(BindableService service, int port) {
        return Server.builder()
            .http(port)
            .service(GrpcService.builder().addService(service).autoCompression(true).build())
            .build();
    }
}
