package rpcgauge.lognet

import com.fasterxml.jackson.databind.ObjectMapper
import io.grpc.BindableService
import io.grpc.ServerBuilder
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import java.io.File
import java.util.function.Supplier
import org.lognet.springboot.grpc.GRpcServerBuilderConfigurer
import org.lognet.springboot.grpc.GRpcService
import org.lognet.springboot.grpc.context.GRpcServerInitializedEvent
import org.springframework.context.ApplicationEvent
import org.springframework.context.ApplicationListener
import org.springframework.context.ConfigurableApplicationContext
import org.springframework.context.support.GenericApplicationContext
import org.springframework.http.MediaType
import org.springframework.http.converter.json.AbstractJackson2HttpMessageConverter
import rpcgauge.Handler
import rpcgauge.ServerSettings
import rpcgauge.Workload
import rpcgauge.grpcnetty.asAsked
import rpcgauge.msgpack.mapper2
import rpcgauge.msgpack.msgpackMapper
import rpcgauge.spring.Program
import rpcgauge.spring.Starter

private val PROGRAM = Program(LogNet(), ::jackson2)

fun main(args: Array<String>) = rpcgauge.main(
    args,
    PROGRAM.grpc("lognet-grpc"),
    PROGRAM.grpc("lognet-grpc-stamped", ::stamped),
    PROGRAM.mvc("lognet-mvc", "json", "msgpack"),
)

/** Writes the times when a message was received and its response was ready to a file, which is opened for each call. */
private fun stamped(handler: Handler): Handler {
    val file = File.createTempFile("rpcgauge-stamps", ".txt").apply { deleteOnExit() }
    return { request ->
        val received = System.currentTimeMillis()
        val response = handler(request)
        file.appendText("$received ${System.currentTimeMillis()}\n")
        response
    }
}

/** The starter finds services by this annotation. */
@GRpcService
private class Service(service: BindableService) : BindableService by service

private class LogNet : Starter {
    private var port = 0

    override fun properties(asked: ServerSettings) = mapOf(
        "grpc.netty-server.primary-listen-address" to "${asked.listen.host}:0",
    )

    override fun register(context: GenericApplicationContext, asked: ServerSettings, service: BindableService) {
        context.registerBean("service", Service::class.java, Supplier { Service(service) })
        context.registerBean("configurer", GRpcServerBuilderConfigurer::class.java, Supplier { Configurer(asked) })
        context.addApplicationListener(ApplicationListener<ApplicationEvent> {
            if (it is GRpcServerInitializedEvent) port = it.server.port
        })
    }

    override fun port(context: ConfigurableApplicationContext) = port
}

private class Configurer(private val asked: ServerSettings) : GRpcServerBuilderConfigurer() {
    override fun configure(builder: ServerBuilder<*>) {
        (builder as NettyServerBuilder).asAsked(asked)
    }
}

/** Spring's converter for a Jackson 2 format. Boot adds every bean of this kind to its own converters. */
private class MsgpackConverter : AbstractJackson2HttpMessageConverter(msgpackMapper(), MediaType("application", "msgpack"))

private fun jackson2(context: GenericApplicationContext, workload: Workload, asked: ServerSettings): Handler {
    val mapper = mapper2()
    context.registerBean("objectMapper", ObjectMapper::class.java, Supplier { mapper })
    if (asked.encoding == "msgpack") {
        context.registerBean("msgpack", MsgpackConverter::class.java, Supplier { MsgpackConverter() })
    }
    return workload.plainHandler { text, type -> mapper.readValue(text, type) }
}
