import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.stub.AbstractStub;

class GzipChannels {
    /** Returns the one channel for all calls of the process. The library always accepts compressed responses. */
    static ManagedChannel to(String host, int port) {
        return ManagedChannelBuilder.forAddress(host, port).usePlaintext().build();
    }

    /** Returns a stub that compresses requests: compressing(OrdersGrpc.newBlockingStub(channel)). */
    static <S extends AbstractStub<S>> S compressing(S stub) {
        return stub.withCompression("gzip");
    }
}
