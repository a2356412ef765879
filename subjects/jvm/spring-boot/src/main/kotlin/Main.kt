package rpcgauge.springboot

import io.grpc.BindableService
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import java.util.function.Supplier
import org.springframework.context.ConfigurableApplicationContext
import org.springframework.context.support.GenericApplicationContext
import org.springframework.grpc.server.ServerBuilderCustomizer
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle
import rpcgauge.Handler
import rpcgauge.ServerSettings
import rpcgauge.Workload
import rpcgauge.grpcnetty.asAsked
import rpcgauge.jackson.jsonMapper
import rpcgauge.spring.Program
import rpcgauge.spring.Starter
import tools.jackson.databind.json.JsonMapper

private val PROGRAM = Program(BootStarter, ::jackson3)

fun main(args: Array<String>) =
    rpcgauge.main(args, PROGRAM.grpc("spring-boot-grpc"), PROGRAM.mvc("spring-boot-mvc", "json"))

/** Boot's own starter, which serves every bean that is a BindableService. */
private object BootStarter : Starter {
    override fun properties(asked: ServerSettings) = mapOf(
        "spring.grpc.server.address" to asked.listen.host,
        "spring.grpc.server.port" to 0,
        "spring.grpc.server.shutdown.grace-period" to "0s",
        "spring.grpc.server.inbound.message.max-size" to "${asked.limits.messageBytes}B",
    )

    override fun register(context: GenericApplicationContext, asked: ServerSettings, service: BindableService) {
        context.registerBean("service", BindableService::class.java, Supplier { service })
        val customizer = ServerBuilderCustomizer<NettyServerBuilder> { it.asAsked(asked) }
        context.registerBean("customizer", ServerBuilderCustomizer::class.java, Supplier { customizer })
    }

    override fun port(context: ConfigurableApplicationContext) = context.getBean(GrpcServerLifecycle::class.java).port
}

private fun jackson3(context: GenericApplicationContext, workload: Workload, asked: ServerSettings): Handler {
    val mapper = jsonMapper()
    context.registerBean("jsonMapper", JsonMapper::class.java, Supplier { mapper })
    return workload.plainHandler { text, type -> mapper.readValue(text, type) }
}
