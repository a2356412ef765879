package rpcgauge.grpckotlin

import com.google.gson.JsonObject
import io.grpc.stub.AbstractStub
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking
import rpcgauge.ClientSettings
import rpcgauge.Form
import rpcgauge.Format
import rpcgauge.Record
import rpcgauge.Requests
import rpcgauge.StreamMessages
import rpcgauge.VerifiedMessages
import rpcgauge.begun

/** Streams with the coroutine stub, whose messages are flows. */
internal class FlowClient(asked: ClientSettings, format: Format, private val method: FlowMethod) :
    CoroutineClient(asked, format, method::stub) {
    private val stream = checkNotNull(asked.calling.stream)

    override fun verified(requests: Requests): JsonObject {
        val messages = VerifiedMessages(stream, requests, format)
        runBlocking { call(Record(), messages) }
        return messages.verified
    }

    override suspend fun call(record: Record): Any = call(record, begun(record, stream, requests))

    private suspend fun call(record: Record, messages: StreamMessages) = withStub(record) { stub ->
        when {
            stream.form == Form.SERVER -> method.server(stub, messages.next()).collect(messages::received)
            stream.form == Form.CLIENT -> messages.received(method.client(stub, messages.all()))
            stream.inTurn -> exchangeInTurn(stub, messages)
            else -> method.bidirectional(stub, messages.all()).collect(messages::received)
        }
        messages.complete(record)
    }

    private fun StreamMessages.all(): Flow<Any> = flow { while (hasNext) emit(next()) }

    private suspend fun exchangeInTurn(stub: AbstractStub<*>, messages: StreamMessages) {
        // A server that responds more often than it was asked must not block the call.
        val turns = Channel<Unit>(Channel.CONFLATED)
        val requests = flow {
            while (messages.hasNext) {
                emit(messages.next())
                if (messages.hasNext) turns.receive()
            }
        }
        method.bidirectional(stub, requests).collect { response ->
            messages.received(response)
            turns.send(Unit)
        }
    }
}
