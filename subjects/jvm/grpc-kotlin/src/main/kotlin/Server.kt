package rpcgauge.grpckotlin

import io.grpc.ForwardingServerCall.SimpleForwardingServerCall
import io.grpc.Metadata
import io.grpc.ServerCall
import io.grpc.ServerCallHandler
import io.grpc.ServerInterceptor
import io.grpc.ServerInterceptors
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Workload
import rpcgauge.grpc.GZIP
import rpcgauge.grpc.Unary
import rpcgauge.grpc.formatOf
import rpcgauge.grpc.status
import rpcgauge.grpcnetty.NettyServer

fun serve(asked: ServerSettings, workload: Workload): Server {
    val format = formatOf(asked.encoding, workload)
    val unary = Unary(asked, format.handler())
    val method = methodOf(workload, format)
    val service = method.service { request ->
        try {
            unary.respond(request)
        } catch (error: Exception) {
            throw status(error)
        }
    }.bindService()
    val isCompressed = asked.calling.responseCompression.isGzip
    val whole = if (isCompressed) ServerInterceptors.intercept(service, Compressing) else service
    return NettyServer(asked, { whole })
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
