package rpcgauge.grpckotlin

import io.grpc.BindableService
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall
import io.grpc.Metadata
import io.grpc.ServerCall
import io.grpc.ServerCallHandler
import io.grpc.ServerInterceptor
import io.grpc.ServerInterceptors
import rpcgauge.Format
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Workload
import rpcgauge.grpc.GZIP
import rpcgauge.grpc.Unary
import rpcgauge.grpc.formatOf
import rpcgauge.grpcnetty.NettyServer

fun serve(asked: ServerSettings, workload: Workload): Server {
    val service = serviceOf(asked, workload, formatOf(asked.encoding, workload)).bindService()
    val isCompressed = asked.calling.responseCompression.isGzip
    val whole = if (isCompressed) ServerInterceptors.intercept(service, Compressing) else service
    return NettyServer(asked, { whole })
}

private fun serviceOf(asked: ServerSettings, workload: Workload, format: Format): BindableService {
    val stream = asked.calling.stream
    if (stream != null) return flowMethodOf(workload, format).service(Flows(stream, format))
    val unary = Unary(asked, format.handler())
    return methodOf(workload, format).service { request -> answered { unary.respond(request) } }
}

/** Coroutines cannot access the call, so an interceptor enables gzip; the library skips it if the client refuses it. */
private object Compressing : ServerInterceptor {
    override fun <Q, R> interceptCall(
        call: ServerCall<Q, R>,
        headers: Metadata,
        next: ServerCallHandler<Q, R>,
    ): ServerCall.Listener<Q> = next.startCall(object : SimpleForwardingServerCall<Q, R>(call) {
        override fun sendHeaders(headers: Metadata) {
            setCompression(GZIP)
            setMessageCompression(true)
            super.sendHeaders(headers)
        }
    }, headers)
}
