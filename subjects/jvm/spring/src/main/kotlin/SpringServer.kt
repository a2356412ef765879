package rpcgauge.spring

import io.grpc.BindableService
import java.util.function.Supplier
import org.springframework.beans.factory.support.RootBeanDefinition
import org.springframework.boot.Banner
import org.springframework.boot.SpringApplication
import org.springframework.boot.autoconfigure.EnableAutoConfiguration
import org.springframework.context.ApplicationContextInitializer
import org.springframework.context.ConfigurableApplicationContext
import org.springframework.context.support.GenericApplicationContext
import rpcgauge.Form
import rpcgauge.Handler
import rpcgauge.Protobuf
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Stack
import rpcgauge.Workload
import rpcgauge.grpc.serviceOf

/** Stands in for a user's main class. Beans are registered by functions, because they differ between Boot versions. */
@EnableAutoConfiguration
open class Application

/** A gRPC server that a starter adds to Spring Boot. */
interface Starter {
    fun properties(asked: ServerSettings): Map<String, Any>

    /** Registers the service and the customizer of the server's builder. */
    fun register(context: GenericApplicationContext, asked: ServerSettings, service: BindableService)

    fun port(context: ConfigurableApplicationContext): Int
}

/** Registers the readers and writers for the controllers' messages, and returns the handler that they call. */
typealias Mapper = (GenericApplicationContext, Workload, ServerSettings) -> Handler

/** The stacks of a program with a starter, and with MVC if it has a mapper. */
class Program(private val starter: Starter, private val mapper: Mapper? = null) {
    /** `around` wraps the service's handler, which it cannot do for streams. */
    fun grpc(name: String, around: ((Handler) -> Handler)? = null) = Stack(
        name = name,
        protocols = mapOf("grpc" to listOf("2")),
        encodings = listOf("protobuf"),
        streams = if (around == null) Form.GRPC else emptyList(),
        serve = { asked, workload -> SpringServer(asked, workload, starter, mapper, around ?: { it }) },
    )

    fun mvc(name: String, vararg encodings: String) = Stack(
        name = name,
        protocols = mapOf("rest" to listOf("1.1")),
        encodings = encodings.asList(),
        boundsMessages = false,
        serve = { asked, workload -> SpringServer(asked, workload, starter, mapper) { it } },
    )
}

/**
 * A program with a starter's gRPC server on one port and Spring MVC with Tomcat on another. The address is that of the
 * requested protocol. A process with several parts has an instance for each part.
 */
class SpringServer(
    private val asked: ServerSettings,
    private val workload: Workload,
    private val starter: Starter,
    private val mapper: Mapper?,
    private val around: (Handler) -> Handler,
) : Server {
    private val context: ConfigurableApplicationContext

    private val isGrpc = asked.calling.protocol == "grpc"

    override val address: String

    init {
        val application = SpringApplication(Application::class.java)
        application.setBannerMode(Banner.Mode.OFF)
        application.setLogStartupInfo(false)
        application.setRegisterShutdownHook(false)
        application.setDefaultProperties(properties() + starter.properties(asked))
        application.addInitializers(ApplicationContextInitializer<GenericApplicationContext>(::register))
        context = application.run()
        val host = asked.listen.host.let { if (':' in it) "[$it]" else it }
        address = "$host:${if (isGrpc) starter.port(context) else context.environment.getProperty("local.server.port")}"
    }

    private fun properties(): Map<String, Any> = mapOf(
        "server.address" to asked.listen.host,
        "server.port" to 0,
        "server.tomcat.threads.max" to asked.threads,
        "server.tomcat.threads.min-spare" to asked.threads,
        // Keeps connections open, even between slices. By default, a connection is closed after 100 requests or 60
        // seconds.
        "server.tomcat.max-keep-alive-requests" to -1,
        "server.tomcat.keep-alive-timeout" to -1,
        "logging.level.root" to "warn",
        "rpcgauge.path" to workload.restPath,
    )

    private fun register(context: GenericApplicationContext) {
        starter.register(context, asked, serviceOf(asked, workload, Protobuf(workload), around))
        if (mapper == null) return
        val handler = mapper.invoke(context, workload, asked)
        context.registerBean("mvc", Mvc::class.java, Supplier { Mvc(handler, asked.calling.marks) })
        context.registerBeanDefinition("controller", RootBeanDefinition(workload.method.bindingClass("spring-mvc")))
    }

    override fun close() = context.close()
}
