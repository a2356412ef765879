package rpcgauge.grpckotlin

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.lastOrNull
import kotlinx.coroutines.flow.map
import rpcgauge.Format
import rpcgauge.InvalidRequest
import rpcgauge.Stream
import rpcgauge.grpc.status

/** The body of a server's method that streams. The library waits for the transport between messages. */
class Flows(private val stream: Stream, format: Format) {
    private val handler = format.handler()
    private val series = format.series()

    /** Responds to one request with several messages. */
    fun respond(request: Any): Flow<Any> = flow {
        for (number in 0 until stream.responses) emit(answered { series.respond(request, number) })
    }

    /** Responds to the last request. */
    suspend fun gather(requests: Flow<Any>): Any {
        val last = requests.lastOrNull()
        return answered { handler(last ?: throw InvalidRequest("the client sent no request")) }
    }

    /** Responds to each request. */
    fun exchange(requests: Flow<Any>): Flow<Any> = requests.map { request -> answered { handler(request) } }
}

/** Returns a response, or throws the status of its error. */
internal inline fun answered(respond: () -> Any): Any = try {
    respond()
} catch (error: Exception) {
    throw status(error)
}
