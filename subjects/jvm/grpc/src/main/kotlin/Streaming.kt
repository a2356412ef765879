package rpcgauge.grpc

import io.grpc.BindableService
import io.grpc.Status
import io.grpc.stub.ServerCallStreamObserver
import io.grpc.stub.StreamObserver
import rpcgauge.Form
import rpcgauge.Format
import rpcgauge.Handler
import rpcgauge.ServerSettings
import rpcgauge.Stream
import rpcgauge.Workload

/** The service of a server's method, unary or streaming. `around` wraps the handler of each request. */
fun serviceOf(asked: ServerSettings, workload: Workload, format: Format, around: (Handler) -> Handler = { it }): BindableService {
    val handler = around(format.handler())
    val stream = asked.calling.stream ?: return methodOf(workload, format).service(Unary(asked, handler))
    return streamMethodOf(workload, format).service(Streaming(asked, stream, format, handler))
}

/**
 * The body of a server's method that streams. It sends only while the transport accepts messages, and reads the next
 * request only then, so that a client that reads slowly does not make messages queue up.
 */
class Streaming(asked: ServerSettings, private val stream: Stream, format: Format, private val handler: Handler) {
    private val isCompressed = asked.calling.responseCompression.isGzip
    private val series = format.series()
    private val open: (ServerCallStreamObserver<Any>) -> StreamObserver<Any> =
        if (stream.form == Form.CLIENT) ::Gathering else ::Exchange

    /** Responds to one request with several messages. */
    fun respond(request: Any, observer: StreamObserver<*>) {
        val call = callOf(observer)
        val responses = Responses(call, request)
        // Without a handler, sending to a client that is gone would throw.
        call.setOnCancelHandler {}
        call.setOnReadyHandler(responses)
    }

    /** Returns the receiver of a client's requests. */
    fun receive(observer: StreamObserver<*>): StreamObserver<Any> = open(callOf(observer))

    @Suppress("UNCHECKED_CAST")
    private fun callOf(observer: StreamObserver<*>): ServerCallStreamObserver<Any> {
        // The library does not compress if the client does not accept gzip.
        return (observer as ServerCallStreamObserver<Any>).apply { if (isCompressed) setCompression(GZIP) }
    }

    private inner class Responses(private val call: ServerCallStreamObserver<Any>, private val request: Any) : Runnable {
        private var number = 0

        /** Called when the transport accepts messages again. */
        override fun run() {
            if (number == stream.responses) return
            try {
                while (number < stream.responses && call.isReady) call.onNext(series.respond(request, number++))
            } catch (error: Exception) {
                number = stream.responses
                return call.onError(status(error))
            }
            if (number == stream.responses) call.onCompleted()
        }
    }

    /** Responds to the last request. */
    private inner class Gathering(private val call: ServerCallStreamObserver<Any>) : StreamObserver<Any> {
        private var last: Any? = null

        override fun onNext(request: Any) {
            last = request
        }

        override fun onError(error: Throwable) {}

        override fun onCompleted() {
            val request = last ?: return call.onError(NO_REQUEST)
            val response = try {
                handler(request)
            } catch (error: Exception) {
                return call.onError(status(error))
            }
            call.onNext(response)
            call.onCompleted()
        }
    }

    /** Responds to each request. */
    private inner class Exchange(private val call: ServerCallStreamObserver<Any>) : StreamObserver<Any> {
        private var isReading = false
        private var isFailed = false

        init {
            call.disableAutoRequest()
            call.setOnReadyHandler {
                if (!isReading && call.isReady) {
                    isReading = true
                    call.request(1)
                }
            }
        }

        override fun onNext(request: Any) {
            try {
                call.onNext(handler(request))
            } catch (error: Exception) {
                isFailed = true
                return call.onError(status(error))
            }
            if (call.isReady) call.request(1) else isReading = false
        }

        override fun onError(error: Throwable) {}

        override fun onCompleted() {
            if (!isFailed) call.onCompleted()
        }
    }

    private companion object {
        val NO_REQUEST = Status.INVALID_ARGUMENT.withDescription("the client sent no request").asRuntimeException()
    }
}
