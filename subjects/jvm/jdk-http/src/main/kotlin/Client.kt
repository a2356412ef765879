package rpcgauge.jdkhttp

import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse
import java.net.http.HttpResponse.BodySubscribers
import java.time.Duration
import java.util.concurrent.CompletableFuture
import rpcgauge.Carried
import rpcgauge.ClientSettings
import rpcgauge.ProtoJson
import rpcgauge.Protobuf
import rpcgauge.Record
import rpcgauge.RestClient
import rpcgauge.Workload
import rpcgauge.jackson.Json
import rpcgauge.msgpack.Msgpack
import rpcgauge.now

/** Calls with the JDK's HttpClient: `send` and `sendAsync`. It does not support gzip, which is applied around it. */
class Client(asked: ClientSettings, workload: Workload) : RestClient(asked, format(asked, workload)) {
    private val uri = URI("http://${asked.address}${workload.restPath}")
    private val client = HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        // The server is on this host, so proxies from the environment must be ignored.
        .proxy(HttpClient.Builder.NO_PROXY)
        .build()

    override fun send(body: ByteArray, record: Record): Carried = carried(client.send(request(body), handler(record)))

    override fun sendAsync(body: ByteArray, record: Record): CompletableFuture<Carried> =
        client.sendAsync(request(body), handler(record)).thenApply(::carried)

    private fun request(body: ByteArray): HttpRequest {
        val request = HttpRequest.newBuilder(uri)
            .timeout(Duration.ofMillis(asked.deadlineMs))
            .POST(BodyPublishers.ofByteArray(body))
        headers.forEach(request::header)
        return request.build()
    }

    private fun handler(record: Record) = HttpResponse.BodyHandler {
        record.first = now()
        BodySubscribers.ofByteArray()
    }

    private fun carried(response: HttpResponse<ByteArray>) =
        Carried(response.statusCode(), response.body()) { response.headers().firstValue(it).orElse(null) }
}

private fun format(asked: ClientSettings, workload: Workload) = when (asked.encoding) {
    "json" -> Json(workload)
    "msgpack" -> Msgpack(workload)
    "protojson" -> ProtoJson(workload)
    else -> Protobuf(workload)
}
