package campus.service

import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.binder.jvm.ExecutorServiceMetrics
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors
import org.apache.coyote.ProtocolHandler
import org.springframework.beans.factory.annotation.Qualifier
import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.boot.tomcat.TomcatProtocolHandlerCustomizer
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.grpc.server.ServerBuilderCustomizer
import org.springframework.scheduling.concurrent.CustomizableThreadFactory

@ConfigurationProperties("campus.request-threads")
data class ThreadSettings(val http: Int, val grpc: Int)

/**
 * The threads that handle requests, a pool for HTTP and one for gRPC, as many as the settings say. Neither library
 * tells how long a request waits for a thread; Micrometer's wrapper does (`executor.idle`).
 */
@Configuration(proxyBeanMethods = false)
class RequestThreads(private val settings: ThreadSettings, private val registry: MeterRegistry) {
    @Bean(destroyMethod = "shutdown")
    fun httpThreads() = pool("http", settings.http)

    @Bean(destroyMethod = "shutdown")
    fun grpcThreads() = pool("grpc", settings.grpc)

    @Bean
    fun httpOnItsThreads(@Qualifier("httpThreads") threads: ExecutorService) =
        TomcatProtocolHandlerCustomizer<ProtocolHandler> { it.executor = threads }

    @Bean
    fun grpcOnItsThreads(@Qualifier("grpcThreads") threads: ExecutorService) =
        ServerBuilderCustomizer<NettyServerBuilder> { it.executor(threads) }

    private fun pool(name: String, threads: Int): ExecutorService {
        val pool = Executors.newFixedThreadPool(threads, CustomizableThreadFactory("$name-"))
        return ExecutorServiceMetrics.monitor(registry, pool, name)
    }
}
