package rpcgauge.armeria

import com.google.api.HttpRule
import com.linecorp.armeria.common.util.DomainSocketAddress
import com.linecorp.armeria.server.Server as Armeria
import com.linecorp.armeria.server.ServerBuilder
import com.linecorp.armeria.server.annotation.JacksonRequestConverterFunction
import com.linecorp.armeria.server.annotation.JacksonResponseConverterFunction
import com.linecorp.armeria.server.grpc.GrpcService
import com.linecorp.armeria.server.grpc.GrpcServiceBuilder
import com.linecorp.armeria.server.grpc.HttpJsonTranscodingOptions
import io.grpc.ServerInterceptors
import java.net.InetSocketAddress
import java.nio.file.Path
import java.util.concurrent.CompletionException
import rpcgauge.Fault
import rpcgauge.Protobuf
import rpcgauge.Refused
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Workload
import rpcgauge.grpc.Marks
import rpcgauge.grpc.compressors
import rpcgauge.grpc.serviceOf
import rpcgauge.msgpack.mapper2
import rpcgauge.oneLine
import rpcgauge.removeSocket

/**
 * A server with gRPC and REST on one port. `threads` event loops transfer the bytes and run the handler, which does not
 * block; this is the library's default.
 */
class ArmeriaServer(private val asked: ServerSettings, workload: Workload) : Server {
    private val isTranscoding = asked.encoding == "protojson"

    private val server: Armeria

    init {
        val path = asked.listen.path
        val address = if (path == null) InetSocketAddress(asked.listen.host, 0) else DomainSocketAddress.of(Path.of(path))
        server = Armeria.builder()
            .http(address)
            .workerGroup(asked.threads)
            .maxRequestLength(asked.calling.bodyBytes(asked.limits))
            // Connections stay open between slices, and a call has the client's deadline.
            .idleTimeoutMillis(0)
            .requestTimeoutMillis(0)
            .gracefulShutdownTimeoutMillis(0, 0)
            .service(grpc(workload))
            // With transcoding, the gRPC service serves the REST resource.
            .apply { if (!isTranscoding) rest(workload) }
            .build()
        try {
            server.start().join()
        } catch (error: CompletionException) {
            throw Refused(Fault.MACHINE, "cannot listen: ${oneLine(error.cause ?: error)}; choose another address")
        }
    }

    private fun grpc(workload: Workload): GrpcService {
        val service = serviceOf(asked, workload, Protobuf(workload))
        val interceptors = if (asked.calling.marks) listOf(Marks.Interceptor) else emptyList()
        return GrpcService.builder()
            .addService(ServerInterceptors.intercept(service, interceptors))
            .maxRequestMessageLength(asked.limits.messageBytes)
            .compressorRegistry(compressors(asked.calling.responseCompression))
            .apply { if (isTranscoding) transcode(workload) }
            .build()
    }

    /** The annotated service, with Jackson 2, which is the library's default. */
    private fun ServerBuilder.rest(workload: Workload) {
        val mapper = mapper2()
        val rest = Rest(workload.plainHandler { text, type -> mapper.readValue(text, type) }, asked.calling.marks)
        annotatedService()
            .pathPrefix(workload.restPath)
            .requestConverters(JacksonRequestConverterFunction(mapper))
            .responseConverters(JacksonResponseConverterFunction(mapper))
            .build(workload.method.bindingClass("armeria-rest").getConstructor(Rest::class.java).newInstance(rest))
    }

    /** JSON on the REST resource, or on the path of the gRPC method if that is the resource. */
    private fun GrpcServiceBuilder.transcode(workload: Workload) {
        if (workload.restPath == workload.method.path) {
            enableUnframedRequests(true)
            return
        }
        val rule = HttpRule.newBuilder()
            .setSelector(workload.method.path.removePrefix("/").replace('/', '.'))
            .setPost(workload.restPath)
            .setBody("*")
            .build()
        enableHttpJsonTranscoding(HttpJsonTranscodingOptions.builder().additionalHttpRules(rule).build())
    }

    override val address: String = asked.listen.path?.let { UNIX + it }
        ?: "${asked.listen.host.let { if (':' in it) "[$it]" else it }}:${server.activeLocalPort()}"

    override fun close() {
        server.stop().join()
        removeSocket(asked.listen)
    }
}
