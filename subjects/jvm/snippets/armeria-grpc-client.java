import com.linecorp.armeria.client.grpc.GrpcClients;
import io.grpc.Codec;
import io.grpc.DecompressorRegistry;

class ArmeriaClients {
    /** Returns the one stub for all calls of the process: to("h2c://shop:50051", OrdersGrpc.OrdersBlockingStub.class). */
    static <S> S to(String uri, Class<S> stub) {
        // By default the client accepts gzip, so that a server may compress.
        return GrpcClients.builder("gproto+" + uri)
            .decompressorRegistry(DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false))
            .build(stub);
    }
}
