package rpcgauge.grpc

import com.google.gson.JsonObject
import java.util.concurrent.CompletableFuture
import rpcgauge.ClientSettings
import rpcgauge.Format
import rpcgauge.Record
import rpcgauge.Requests
import rpcgauge.StreamMessages
import rpcgauge.Tally
import rpcgauge.VerifiedMessages
import rpcgauge.Workload
import rpcgauge.begun

/** Streams with the stubs of protoc-gen-grpc-java: the blocking one, or the one that takes observers. */
class StreamClient private constructor(asked: ClientSettings, format: Format, channels: Channels, private val method: StreamMethod) :
    StubClient(asked, format, channels, method::blockingStub, method::asyncStub) {
    private val stream = checkNotNull(asked.calling.stream)
    private val exchange = BlockingExchange(method, stream)

    constructor(asked: ClientSettings, workload: Workload, format: Format, channels: Channels) :
        this(asked, format, channels, streamMethodOf(workload, format))

    override fun verified(requests: Requests): JsonObject {
        val messages = VerifiedMessages(stream, requests, format)
        if (isBlocking) {
            call(Record(), messages)
        } else {
            val outcome = CompletableFuture<Throwable?>()
            start(Record(), messages, outcome::complete)
            outcome.get()?.let { throw it }
        }
        return messages.verified
    }

    override fun run(tally: Tally) {
        if (isBlocking) blocking.run(tally) { record -> call(record, begun(record, stream, requests)) }
        else overlapping.run(tally) { record, end -> start(record, begun(record, stream, requests), end) }
    }

    private fun call(record: Record, messages: StreamMessages) = block(record) { stub ->
        exchange.run(stub, messages)
        messages.complete(record)
    }

    private fun start(record: Record, messages: StreamMessages, end: (Throwable?) -> Unit) =
        overlap(record, end) { stub, ended ->
            val observer = AsyncExchange(stream, messages) { error ->
                ended(error ?: runCatching { messages.complete(record) }.exceptionOrNull())
            }
            if (stream.form.clientStreams) method.async(stub, observer) else method.async(stub, messages.next(), observer)
        }
}
