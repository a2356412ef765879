import io.grpc.ServerBuilder;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.grpc.server.ServerBuilderCustomizer;

@Configuration
class GrpcServerSettings {
    @Bean(destroyMethod = "shutdown")
    ExecutorService grpcExecutor() {
        return Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    }

    /** By default, the library creates a thread for each call that is in progress. */
    @Bean
    <B extends ServerBuilder<B>> ServerBuilderCustomizer<B> grpcThreads(ExecutorService grpcExecutor) {
        return server -> server.executor(grpcExecutor);
    }
}
