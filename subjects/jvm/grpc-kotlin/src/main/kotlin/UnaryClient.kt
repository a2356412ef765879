package rpcgauge.grpckotlin

import com.google.gson.JsonObject
import kotlinx.coroutines.runBlocking
import rpcgauge.ClientSettings
import rpcgauge.Format
import rpcgauge.Record
import rpcgauge.Requests
import rpcgauge.now

/** Unary calls with the coroutine stub. */
internal class UnaryClient(asked: ClientSettings, format: Format, private val method: CoroutineMethod) :
    CoroutineClient(asked, format, method::stub) {
    override fun verified(requests: Requests): JsonObject =
        format.verified(runBlocking { call(requests.next(), Record()) })

    override suspend fun call(record: Record): Any = call(requests.next(), record)

    private suspend fun call(request: Any, record: Record): Any =
        withStub(record) { stub -> method.call(stub, request).also { record.end = now() } }
}
