package rpcgauge.armeria

import com.linecorp.armeria.client.WebClient
import com.linecorp.armeria.common.AggregatedHttpResponse
import com.linecorp.armeria.common.HttpData
import com.linecorp.armeria.common.HttpMethod
import com.linecorp.armeria.common.HttpRequest
import com.linecorp.armeria.common.RequestHeaders
import java.util.concurrent.CompletableFuture
import rpcgauge.Carried
import rpcgauge.ClientSettings
import rpcgauge.Record
import rpcgauge.RestClient
import rpcgauge.Workload
import rpcgauge.msgpack.Json2

/** Calls with Armeria's WebClient, which either waits or returns a future. */
class RestCaller(asked: ClientSettings, workload: Workload) : RestClient(asked, Json2(workload)) {
    private val connections = Connections(asked)
    private val client = WebClient.builder(connections.protocol, connections.endpoint).apply(connections::set).build()
    private val blocking = client.blocking()
    private val head = RequestHeaders.builder(HttpMethod.POST, workload.restPath).apply { headers.forEach(::set) }.build()

    override fun reopen(): Int = connections.reopen(::run)

    override fun send(body: ByteArray, record: Record): Carried = carried(blocking.execute(request(body)))

    override fun sendAsync(body: ByteArray, record: Record): CompletableFuture<Carried> =
        client.execute(request(body)).aggregate().thenApply(::carried)

    private fun request(body: ByteArray) = HttpRequest.of(head, HttpData.wrap(body))

    private fun carried(response: AggregatedHttpResponse) =
        Carried(response.status().code(), response.content().array()) { response.headers().get(it) }
}
