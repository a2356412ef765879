package rpcgauge

import com.google.gson.JsonObject
import java.io.IOException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CompletionException

private const val OK = 200

/** A response with its body as it was received, possibly compressed. */
class Carried(val status: Int, val body: ByteArray, val header: (String) -> String?)

/** Shared by the REST clients whose libraries transfer bytes; messages are encoded and compressed here. */
abstract class RestClient(protected val asked: ClientSettings, private val format: Format) : Caller {
    private val requests = Requests(asked.samples.map { format.read(Sample.REQUEST, it) })
    private val level = asked.requestCompression.level
    private val blocking = Blocking(asked.inFlight)
    private val overlapping = Overlapping(asked.inFlight)

    /** The headers of each request. */
    protected val headers: Map<String, String> = buildMap {
        put("content-type", format.mediaType)
        put("accept", format.mediaType)
        if (level > 0) put("content-encoding", "gzip")
        if (asked.calling.responseCompression.isGzip) put("accept-encoding", "gzip")
    }

    /** Makes a call, and stores the times that the library exposes in its record. */
    protected abstract fun send(body: ByteArray, record: Record): Carried

    /** The same, without waiting for the response. */
    protected abstract fun sendAsync(body: ByteArray, record: Record): CompletableFuture<Carried>

    override fun verify(): JsonObject {
        val response = try {
            call(requests.first, Record())
        } catch (error: Exception) {
            throw Refused(Fault.SUBJECT, oneLine(error))
        }
        return format.verified(response)
    }

    override fun run(tally: Tally) = when (asked.style) {
        "future" -> overlapping.run(tally) { record, end ->
            sendAsync(encode(requests.next(), record), record)
                .thenAccept { decode(it, record) }
                .whenComplete { _, error -> end((error as? CompletionException)?.cause ?: error) }
        }
        else -> blocking.run(tally) { record -> call(requests.next(), record) }
    }

    private fun call(request: Any, record: Record): Any = decode(send(encode(request, record), record), record)

    private fun encode(message: Any, record: Record): ByteArray {
        val plain = format.encode(message)
        val body = if (level > 0) gzip(plain, level) else plain
        record.encoded = now()
        record.requestBytes = body.size
        return body
    }

    private fun decode(response: Carried, record: Record): Any {
        record.received = now()
        record.responseBytes = response.body.size
        if (response.status != OK) throw IOException("${response.status}: ${String(response.body)}")
        val isGzip = response.header("content-encoding") == "gzip"
        val plain = if (isGzip) gunzip(response.body, asked.limits) else response.body
        if (plain.size > asked.limits.messageBytes) throw IOException("the message is larger than the limit")
        val message = format.decode(plain, Sample.RESPONSE)
        record.end = now()
        if (asked.calling.marks) record.readMarks(response.header)
        return message
    }
}
