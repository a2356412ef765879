package campus.service

import campus.contract.InnerPaths
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener
import io.grpc.Metadata
import io.grpc.ServerCall
import io.grpc.ServerCallHandler
import io.grpc.ServerInterceptor
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Timer
import jakarta.servlet.Filter
import java.util.concurrent.ExecutorService
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.ThreadPoolExecutor
import java.util.concurrent.TimeUnit
import org.apache.coyote.ProtocolHandler
import org.springframework.beans.factory.annotation.Qualifier
import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.boot.tomcat.TomcatProtocolHandlerCustomizer
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.grpc.server.GlobalServerInterceptor
import org.springframework.grpc.server.ServerBuilderCustomizer
import org.springframework.scheduling.concurrent.CustomizableThreadFactory
import org.springframework.web.servlet.HandlerMapping

@ConfigurationProperties("campus.request-threads")
data class ThreadSettings(val http: Int, val grpc: Int)

/**
 * The threads that handle requests, a pool for HTTP and one for gRPC, as many as the settings say. Neither library
 * tells how long a request waits for a thread: `request.thread.wait` does. Its tag is "inner" for an inner call, the same
 * for REST and gRPC, and otherwise the request's path.
 */
@Configuration(proxyBeanMethods = false)
class RequestThreads(private val settings: ThreadSettings, registry: MeterRegistry) {
    private val waits = Timer.builder("request.thread.wait").withRegistry(registry)

    /** How long the task of this thread has waited; none once it is recorded. */
    private val waitedNs = ThreadLocal<Long>()

    @Bean(destroyMethod = "shutdown")
    fun httpThreads(): ExecutorService = Threads("http", settings.http, waitedNs::set)

    @Bean(destroyMethod = "shutdown")
    fun grpcThreads(): ExecutorService = Threads("grpc", settings.grpc, waitedNs::set)

    @Bean
    fun httpOnItsThreads(@Qualifier("httpThreads") threads: ExecutorService) =
        TomcatProtocolHandlerCustomizer<ProtocolHandler> { it.executor = threads }

    @Bean
    fun grpcOnItsThreads(@Qualifier("grpcThreads") threads: ExecutorService) =
        ServerBuilderCustomizer<NettyServerBuilder> { it.executor(threads) }

    /** What a request is for, is known when its handler has been found. */
    @Bean
    fun httpWaits() = Filter { request, response, chain ->
        val waited = take()
        try {
            chain.doFilter(request, response)
        } finally {
            val path = request.getAttribute(HandlerMapping.BEST_MATCHING_PATTERN_ATTRIBUTE)?.toString() ?: "none"
            tell(if (path.startsWith(InnerPaths.PREFIX)) INNER else path, waited)
        }
    }

    /** Until a call's handler begins there are up to three tasks, one after the other. There are only inner calls. */
    @Bean
    @GlobalServerInterceptor
    fun grpcWaits() = object : ServerInterceptor {
        override fun <Q : Any, R : Any> interceptCall(
            call: ServerCall<Q, R>,
            headers: Metadata,
            next: ServerCallHandler<Q, R>,
        ): ServerCall.Listener<Q> {
            var waited = take()
            return object : SimpleForwardingServerCallListener<Q>(next.startCall(call, headers)) {
                override fun onMessage(message: Q) {
                    waited += take()
                    super.onMessage(message)
                }

                override fun onHalfClose() {
                    tell(INNER, waited + take())
                    super.onHalfClose()
                }
            }
        }
    }

    /** What comes further in the same task has not waited. */
    private fun take(): Long {
        val waited = waitedNs.get() ?: 0
        waitedNs.remove()
        return waited
    }

    private fun tell(request: String, waited: Long) = waits.withTag("request", request).record(waited, TimeUnit.NANOSECONDS)

    private companion object {
        const val INNER = "inner"
    }
}

/** A pool that tells in each task how long the task has waited for its thread, ns. */
private class Threads(name: String, count: Int, private val tell: (Long) -> Unit) : ThreadPoolExecutor(
    count,
    count,
    0,
    TimeUnit.SECONDS,
    LinkedBlockingQueue(),
    CustomizableThreadFactory("$name-"),
) {
    override fun execute(task: Runnable) {
        val since = System.nanoTime()
        super.execute {
            tell(System.nanoTime() - since)
            task.run()
        }
    }
}
