import io.grpc.BindableService;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.concurrent.Executors;

class GzipServers {
    /** Builds a server; start() starts it. By default, the library creates a thread for each call that is in progress. */
    static Server of(BindableService service, int port, int threads) {
        // Daemons, so that they do not keep the program running after the server has stopped.
        var executor = Executors.newFixedThreadPool(threads, task -> {
            var thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
        return ServerBuilder.forPort(port)
            .executor(executor)
            .intercept(new CompressResponses())
            .addService(service)
            .build();
    }

    /** Compresses the responses to all clients that accept gzip, as grpc-java's own do. */
    private static class CompressResponses implements ServerInterceptor {
        @Override
        public <Q, R> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
            call.setCompression("gzip");
            call.setMessageCompression(true);
            return next.startCall(call, headers);
        }
    }
}
