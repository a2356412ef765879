package rpcgauge.grpc

import io.grpc.Codec
import io.grpc.Compressor
import io.grpc.CompressorRegistry
import io.grpc.Context
import io.grpc.Contexts
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall
import io.grpc.Metadata
import io.grpc.ServerCall
import io.grpc.ServerCallHandler
import io.grpc.ServerInterceptor
import io.grpc.Status
import io.grpc.stub.ServerCallStreamObserver
import io.grpc.stub.StreamObserver
import java.io.OutputStream
import rpcgauge.Compression
import rpcgauge.GzipStream
import rpcgauge.HANDLER_END
import rpcgauge.HANDLER_START
import rpcgauge.Handler
import rpcgauge.InvalidRequest
import rpcgauge.ServerSettings
import rpcgauge.now

val START: Metadata.Key<String> = Metadata.Key.of(HANDLER_START, Metadata.ASCII_STRING_MARSHALLER)
val END: Metadata.Key<String> = Metadata.Key.of(HANDLER_END, Metadata.ASCII_STRING_MARSHALLER)

/** The body of a server's method, which adds the marks and the compression in the settings. */
class Unary(asked: ServerSettings, private val handler: Handler) {
    private val isCompressed = asked.calling.responseCompression.isGzip
    private val hasMarks = asked.calling.marks

    @Suppress("UNCHECKED_CAST")
    fun call(request: Any, observer: StreamObserver<*>) {
        val response = try {
            respond(request)
        } catch (error: Exception) {
            return observer.onError(status(error))
        }
        // The library does not compress if the client does not accept gzip.
        if (isCompressed) (observer as ServerCallStreamObserver<*>).setCompression(GZIP)
        (observer as StreamObserver<Any>).onNext(response)
        observer.onCompleted()
    }

    fun respond(request: Any): Any {
        if (!hasMarks) return handler(request)
        val marks = Marks.KEY.get()
        marks.start = now()
        val response = handler(request)
        marks.end = now()
        return response
    }
}

const val GZIP = "gzip"

fun status(error: Exception): RuntimeException {
    val status = if (error is InvalidRequest) Status.INVALID_ARGUMENT else Status.INTERNAL
    return status.withDescription(error.message).withCause(error).asRuntimeException()
}

/** The handler's times of a call. */
class Marks {
    @JvmField var start = 0L
    @JvmField var end = 0L

    /** Adds the marks to the headers of each response, which the library sends together with the message. */
    object Interceptor : ServerInterceptor {
        override fun <Q, R> interceptCall(
            call: ServerCall<Q, R>,
            headers: Metadata,
            next: ServerCallHandler<Q, R>,
        ): ServerCall.Listener<Q> {
            val marks = Marks()
            val marked = object : SimpleForwardingServerCall<Q, R>(call) {
                override fun sendHeaders(headers: Metadata) {
                    headers.put(START, marks.start.toString())
                    headers.put(END, marks.end.toString())
                    super.sendHeaders(headers)
                }
            }
            return Contexts.interceptCall(Context.current().withValue(KEY, marks), marked, headers, next)
        }
    }

    companion object {
        val KEY: Context.Key<Marks> = Context.key("rpcgauge-marks")
    }
}

/** The library's own registry, or one whose gzip has a different level from java.util.zip's default. */
fun compressors(compression: Compression): CompressorRegistry {
    if (!compression.isGzip || compression.level == Compression.DEFAULT_LEVEL) return CompressorRegistry.getDefaultInstance()
    return CompressorRegistry.newEmptyInstance().apply {
        register(Codec.Identity.NONE)
        register(Gzip(compression.level))
    }
}

private class Gzip(private val level: Int) : Compressor {
    override fun getMessageEncoding() = GZIP

    override fun compress(into: OutputStream): OutputStream = GzipStream(into, level)
}
