package rpcgauge.armeria

import com.google.gson.JsonObject
import com.linecorp.armeria.client.WebClient
import com.linecorp.armeria.common.AggregatedHttpResponse
import com.linecorp.armeria.common.HttpData
import com.linecorp.armeria.common.HttpHeaderNames
import com.linecorp.armeria.common.HttpMethod
import com.linecorp.armeria.common.HttpRequest
import com.linecorp.armeria.common.HttpStatus
import com.linecorp.armeria.common.RequestHeaders
import java.io.IOException
import java.util.concurrent.CompletionException
import rpcgauge.Blocking
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Fault
import rpcgauge.Overlapping
import rpcgauge.Record
import rpcgauge.Refused
import rpcgauge.Requests
import rpcgauge.Sample
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.gunzip
import rpcgauge.gzip
import rpcgauge.jackson.Json
import rpcgauge.json
import rpcgauge.now
import rpcgauge.oneLine
import rpcgauge.parsed

private const val SHOWN = 200

/** Calls by Armeria's WebClient, which waits or gives a future. */
class RestCaller(private val asked: ClientSettings, workload: Workload) : Caller {
    private val format = Json(workload)
    private val requests = Requests(asked.requests.map { format.read(Sample.REQUEST, it) })
    private val connections = Connections()
    private val client = WebClient.builder(asked.session(), asked.endpoint())
        .apply { limit(asked, connections) }
        .build()
    private val level = asked.requestCompression.level
    private val headers = RequestHeaders.builder(HttpMethod.POST, workload.restPath).apply {
        set(HttpHeaderNames.CONTENT_TYPE, format.mediaType)
        set(HttpHeaderNames.ACCEPT, format.mediaType)
        if (level > 0) set(HttpHeaderNames.CONTENT_ENCODING, GZIP)
        if (asked.calling.responseCompression.isGzip) set(HttpHeaderNames.ACCEPT_ENCODING, GZIP)
    }.build()
    private val blocking = Blocking(if (asked.style == null || asked.style == "blocking") asked.inFlight else 1)
    private val overlapping = Overlapping(asked.inFlight)

    override val isGenerated get() = format.isGenerated

    override fun verify(): JsonObject {
        val record = Record()
        val response = try {
            decode(client.blocking().execute(request(requests.first, record)), record)
        } catch (error: Exception) {
            throw Refused(Fault.SUBJECT, oneLine(error))
        }
        return json("message" to parsed(format.write(response)))
    }

    override fun reopen(): Int = connections.reopen(::verify)

    override fun run(tally: Tally) = when (asked.style) {
        "future" -> overlapping.run(tally) { record, end ->
            client.execute(request(requests.next(), record)).aggregate()
                .thenAccept { decode(it, record) }
                .whenComplete { _, error -> end((error as? CompletionException)?.cause ?: error) }
        }
        else -> blocking.run(tally) { record ->
            decode(client.blocking().execute(request(requests.next(), record)), record)
        }
    }

    private fun request(message: Any, record: Record): HttpRequest {
        val plain = format.encode(message)
        val body = if (level > 0) gzip(plain, level) else plain
        record.encoded = now()
        record.requestBytes = body.size
        return HttpRequest.of(headers, HttpData.wrap(body))
    }

    private fun decode(response: AggregatedHttpResponse, record: Record): Any {
        val carried = response.content().array()
        record.received = now()
        record.responseBytes = carried.size
        if (response.status() != HttpStatus.OK) {
            throw IOException("${response.status()}: ${String(carried).take(SHOWN)}")
        }
        val isGzip = response.headers().get(HttpHeaderNames.CONTENT_ENCODING, "identity") == GZIP
        val plain = if (isGzip) gunzip(carried, asked.limits) else carried
        val message = format.decode(plain, Sample.RESPONSE)
        record.end = now()
        if (asked.calling.marks) record.readMarks { response.headers().get(it) }
        return message
    }
}
