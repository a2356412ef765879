import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;

class Channels {
    /**
     * Returns the one channel for all calls of the process; share the stub too: OrdersGrpc.newBlockingStub(channel). It
     * connects at the first call, and keeps its connection.
     */
    static ManagedChannel to(String host, int port) {
        return ManagedChannelBuilder.forAddress(host, port).usePlaintext().build();
    }
}
