package rpcgauge.jdkhttp

import com.google.gson.JsonObject
import java.io.IOException
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse
import java.net.http.HttpResponse.BodySubscribers
import java.time.Duration
import java.util.concurrent.CompletionException
import rpcgauge.Blocking
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Fault
import rpcgauge.Overlapping
import rpcgauge.ProtoJson
import rpcgauge.Protobuf
import rpcgauge.Record
import rpcgauge.Refused
import rpcgauge.Requests
import rpcgauge.Sample
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.gunzip
import rpcgauge.gzip
import rpcgauge.jackson.Json
import rpcgauge.msgpack.Msgpack
import rpcgauge.json
import rpcgauge.now
import rpcgauge.oneLine
import rpcgauge.parsed

private const val OK = 200
private const val SHOWN = 200

/** Calls by the JDK's HttpClient: `send` and `sendAsync`. It has no gzip, which stands around it. */
class Client(private val asked: ClientSettings, workload: Workload) : Caller {
    private val format = when (asked.encoding) {
        "json" -> Json(workload)
        "msgpack" -> Msgpack(workload)
        "protojson" -> ProtoJson(workload)
        else -> Protobuf(workload)
    }
    private val requests = Requests(asked.requests.map { format.read(Sample.REQUEST, it) })
    private val uri = URI("http://${asked.address}${workload.restPath}")
    private val client = HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1)
        // The server is on this host, whatever the environment says of proxies.
        .proxy(HttpClient.Builder.NO_PROXY)
        .build()
    private val blocking = Blocking(asked.inFlight)
    private val overlapping = Overlapping(asked.inFlight)

    override val isGenerated get() = format.isGenerated

    override fun verify(): JsonObject {
        val record = Record()
        val response = try {
            decode(client.send(request(requests.first, record), body(record)), record)
        } catch (error: IOException) {
            throw Refused(Fault.SUBJECT, oneLine(error))
        }
        return json("message" to parsed(format.write(response)))
    }

    override fun run(tally: Tally) = when (asked.style) {
        "future" -> overlapping.run(tally) { record, end ->
            client.sendAsync(request(requests.next(), record), body(record))
                .thenAccept { decode(it, record) }
                .whenComplete { _, error -> end((error as? CompletionException)?.cause ?: error) }
        }
        else -> blocking.run(tally) { record ->
            decode(client.send(request(requests.next(), record), body(record)), record)
        }
    }

    private fun request(message: Any, record: Record): HttpRequest {
        val plain = format.encode(message)
        val level = asked.requestCompression.level
        val body = if (level > 0) gzip(plain, level) else plain
        record.encoded = now()
        record.requestBytes = body.size
        val request = HttpRequest.newBuilder(uri)
            .timeout(Duration.ofMillis(asked.deadlineMs))
            .header("content-type", format.mediaType)
            .header("accept", format.mediaType)
            .POST(BodyPublishers.ofByteArray(body))
        if (level > 0) request.header("content-encoding", "gzip")
        if (asked.calling.responseCompression.isGzip) request.header("accept-encoding", "gzip")
        return request.build()
    }

    private fun body(record: Record) = HttpResponse.BodyHandler {
        record.first = now()
        BodySubscribers.ofByteArray()
    }

    private fun decode(response: HttpResponse<ByteArray>, record: Record): Any {
        val carried = response.body()
        record.received = now()
        record.responseBytes = carried.size
        if (response.statusCode() != OK) {
            throw IOException("${response.statusCode()}: ${String(carried).take(SHOWN)}")
        }
        val isGzip = response.headers().firstValue("content-encoding").orElse("identity") == "gzip"
        val plain = if (isGzip) gunzip(carried, asked.limits) else carried
        if (plain.size > asked.limits.messageBytes) throw IOException("the message is larger than the limit")
        val message = format.decode(plain, Sample.RESPONSE)
        record.end = now()
        if (asked.calling.marks) record.readMarks { response.headers().firstValue(it).orElse(null) }
        return message
    }
}
