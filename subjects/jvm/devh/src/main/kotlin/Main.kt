package rpcgauge.devh

import io.grpc.BindableService
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import java.util.function.Supplier
import net.devh.boot.grpc.server.event.GrpcServerStartedEvent
import net.devh.boot.grpc.server.serverfactory.GrpcServerConfigurer
import net.devh.boot.grpc.server.service.GrpcService
import org.springframework.context.ApplicationEvent
import org.springframework.context.ApplicationListener
import org.springframework.context.ConfigurableApplicationContext
import org.springframework.context.support.GenericApplicationContext
import rpcgauge.ServerSettings
import rpcgauge.grpcnetty.asAsked
import rpcgauge.spring.Program
import rpcgauge.spring.Starter

fun main(args: Array<String>) = rpcgauge.main(args, Program(Devh()).grpc("devh-grpc"))

/** The starter finds services by this annotation. */
@GrpcService
private class Service(service: BindableService) : BindableService by service

private class Devh : Starter {
    private var port = 0

    override fun properties(asked: ServerSettings) = mapOf(
        "grpc.server.address" to asked.listen.host,
        "grpc.server.port" to 0,
        "grpc.server.shutdown-grace-period" to "0s",
    )

    override fun register(context: GenericApplicationContext, asked: ServerSettings, service: BindableService) {
        context.registerBean("service", Service::class.java, Supplier { Service(service) })
        val configurer = GrpcServerConfigurer { (it as NettyServerBuilder).asAsked(asked) }
        context.registerBean("configurer", GrpcServerConfigurer::class.java, Supplier { configurer })
        context.addApplicationListener(ApplicationListener<ApplicationEvent> {
            if (it is GrpcServerStartedEvent) port = it.port
        })
    }

    override fun port(context: ConfigurableApplicationContext) = port
}
