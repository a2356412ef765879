import io.grpc.Metadata;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.grpc.server.GlobalServerInterceptor;
import org.springframework.grpc.server.ServerBuilderCustomizer;

@Configuration
class GzipGrpcServerSettings {
    @Bean(destroyMethod = "shutdown")
    ExecutorService grpcExecutor() {
        return Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    }

    /** By default, the library creates a thread for each call that is in progress. */
    @Bean
    <B extends ServerBuilder<B>> ServerBuilderCustomizer<B> grpcThreads(ExecutorService grpcExecutor) {
        return server -> server.executor(grpcExecutor);
    }

    /** Compresses the responses to all clients that accept gzip, as grpc-java's own do. */
    @Bean
    @GlobalServerInterceptor
    ServerInterceptor compressResponses() {
        return new ServerInterceptor() {
            @Override
            public <Q, R> ServerCall.Listener<Q> interceptCall(
                    ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
                call.setCompression("gzip");
                call.setMessageCompression(true);
                return next.startCall(call, headers);
            }
        };
    }
}
