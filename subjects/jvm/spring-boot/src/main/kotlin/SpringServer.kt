package rpcgauge.springboot

import io.grpc.BindableService
import io.grpc.netty.NettyServerBuilder
import jakarta.servlet.http.HttpServletResponse
import java.util.concurrent.Executors
import java.util.function.Supplier
import org.springframework.boot.Banner
import org.springframework.boot.SpringApplication
import org.springframework.boot.autoconfigure.EnableAutoConfiguration
import org.springframework.context.ApplicationContextInitializer
import org.springframework.context.ConfigurableApplicationContext
import org.springframework.context.support.GenericApplicationContext
import org.springframework.grpc.server.ServerBuilderCustomizer
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle
import org.springframework.http.HttpStatus
import org.springframework.web.server.ResponseStatusException
import rpcgauge.HANDLER_END
import rpcgauge.HANDLER_START
import rpcgauge.Handler
import rpcgauge.InvalidRequest
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Workload
import rpcgauge.grpc.Marks
import rpcgauge.grpc.Unary
import rpcgauge.grpc.methodOf
import rpcgauge.jackson.Json
import rpcgauge.jackson.jsonMapper
import rpcgauge.now
import rpcgauge.removeSocket
import tools.jackson.databind.json.JsonMapper

/** What a user's class with a `main` is. Beans are registered below, as there is one of each. */
@EnableAutoConfiguration
class Application

/**
 * One program with both: the gRPC server of Boot's starter on one port, Spring MVC with Tomcat on another. The
 * address is that of the protocol that is asked for.
 */
class SpringServer(private val asked: ServerSettings, private val workload: Workload) : Server {
    private val isGrpc = asked.calling.protocol == "grpc"
    private val context: ConfigurableApplicationContext

    override val isGenerated = isGrpc

    override val address: String

    init {
        // As many event loops as threads: by default there are two for each core.
        System.setProperty("io.netty.eventLoopThreads", "${asked.threads}")
        val application = SpringApplication(Application::class.java)
        application.setBannerMode(Banner.Mode.OFF)
        application.setLogStartupInfo(false)
        application.setRegisterShutdownHook(false)
        application.setDefaultProperties(properties())
        application.addInitializers(ApplicationContextInitializer<GenericApplicationContext>(::register))
        context = application.run()
        val host = asked.listen.host.let { if (':' in it) "[$it]" else it }
        address = when {
            asked.listen.path != null -> "unix:${asked.listen.path}"
            isGrpc -> "$host:${context.getBean(GrpcServerLifecycle::class.java).port}"
            else -> "$host:${context.environment.getProperty("local.server.port")}"
        }
    }

    private fun properties(): Map<String, Any> {
        val host = asked.listen.host
        val grpc = asked.listen.path?.let { mapOf("spring.grpc.server.netty.domain-socket-path" to it) }
            ?: mapOf("spring.grpc.server.address" to host, "spring.grpc.server.port" to 0)
        return grpc + mapOf(
            "spring.grpc.server.inbound.message.max-size" to "${asked.limits.messageBytes}B",
            "spring.grpc.server.shutdown.grace-period" to "0s",
            "server.address" to host,
            "server.port" to 0,
            "server.tomcat.threads.max" to asked.threads,
            "server.tomcat.threads.min-spare" to asked.threads,
            // Connections are kept, also between slices: by default one ends after 100 requests, or 20 seconds.
            "server.tomcat.max-keep-alive-requests" to -1,
            "server.tomcat.keep-alive-timeout" to -1,
            "logging.level.root" to "warn",
            "rpcgauge.path" to workload.restPath,
        )
    }

    private fun register(context: GenericApplicationContext) {
        val unary = Unary(asked, workload.protoHandler())
        val executor = Executors.newFixedThreadPool(asked.threads)
        val customizer = ServerBuilderCustomizer<NettyServerBuilder> {
            it.executor(executor)
            if (asked.calling.marks) it.intercept(Marks.Interceptor)
        }
        context.registerBean("service", BindableService::class.java, Supplier { methodOf(workload, "protobuf").service(unary) })
        context.registerBean("customizer", ServerBuilderCustomizer::class.java, Supplier { customizer })
        context.registerBean("jsonMapper", JsonMapper::class.java, Supplier { jsonMapper(workload) })
        context.registerBean("mvc", Mvc::class.java, Supplier { Mvc(Json(workload).handler(), asked.calling.marks) })
        context.registerBean("controller", workload.method.bindingClass("spring-mvc"))
    }

    override fun close() {
        context.close()
        removeSocket(asked.listen)
    }
}

/** The body of a controller's method, which the generator writes for each set of messages. */
class Mvc(private val handler: Handler, private val hasMarks: Boolean) {
    fun respond(request: Any, response: HttpServletResponse): Any {
        val start = now()
        val message = try {
            handler(request)
        } catch (error: InvalidRequest) {
            throw ResponseStatusException(HttpStatus.BAD_REQUEST, error.message, error)
        }
        if (hasMarks) {
            response.setHeader(HANDLER_START, "$start")
            response.setHeader(HANDLER_END, "${now()}")
        }
        return message
    }
}
