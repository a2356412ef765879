import com.linecorp.armeria.client.grpc.GrpcClients;
import io.grpc.Codec;

class GzipArmeriaClients {
    /**
     * Returns the one stub for all calls of the process: to("h2c://shop:50051", OrdersGrpc.OrdersBlockingStub.class). It
     * compresses requests. The library always accepts compressed responses.
     */
    static <S> S to(String uri, Class<S> stub) {
        return GrpcClients.builder("gproto+" + uri).compressor(new Codec.Gzip()).build(stub);
    }
}
