package rpcgauge

import com.google.gson.JsonArray
import com.google.gson.JsonObject
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.FileChannel

const val MESSAGE_RECORD_BYTES = 16
private const val CHUNK = 4096 * MESSAGE_RECORD_BYTES

/**
 * The messages of one call: hands out its requests, and keeps the times of both sides in arrays. At most one thread
 * sends and one receives.
 */
open class StreamMessages(private val stream: Stream, private val requests: Requests) {
    private var sent = LongArray(stream.requests)
    private var received = LongArray(stream.responses)
    private var sentCount = 0
    private var receivedCount = 0

    /** Whether there are requests left to send. */
    val hasNext: Boolean get() = sentCount < stream.requests

    /** Whether no request has been sent. */
    val isNew: Boolean get() = sentCount == 0

    /** Returns the next request, which the caller passes to the library immediately. */
    fun next(): Any {
        val request = requests.next()
        sent[sentCount++] = now()
        return request
    }

    /** Takes back the last request, because the library did not accept it. */
    fun refused() {
        sentCount--
    }

    /** Takes a decoded response. Responses that are too many are only counted, because they make the call fail. */
    open fun received(response: Any) {
        val at = now()
        if (receivedCount < received.size) received[receivedCount] = at
        receivedCount++
    }

    /** Completes the record of a call that the server has ended with OK, or throws if messages are missing. */
    fun complete(record: Record) {
        record.end = now()
        if (hasNext) throw IOException("the server ended the call after $sentCount of ${stream.requests} requests")
        if (receivedCount != stream.responses) {
            throw IOException("the server sent $receivedCount messages instead of ${stream.responses}")
        }
        record.operations = maxOf(sentCount, receivedCount)
        if (stream.form.serverStreams) {
            record.first = received.first()
            record.received = received.last()
        }
        // The times of a record do not decrease. If both sides stream, the last request may be sent after the first
        // response, so only the record of the message has its time.
        if (!stream.form.serverStreams || !stream.form.clientStreams) record.sent = sent.last()
    }

    /** Frees the parts of the arrays that a failed call did not use, and returns its number of message records. */
    internal fun trim(): Int {
        sent = sent.copyOf(sentCount)
        received = received.copyOf(minOf(receivedCount, received.size))
        return maxOf(sent.size, received.size)
    }

    /** The record of the messages with a number; 0 is the time of a message that does not exist. */
    internal fun write(number: Int, into: ByteBuffer) {
        into.putLong(if (number < sent.size) sent[number] else 0)
            .putLong(if (number < received.size) received[number] else 0)
    }
}

/** Returns the messages of a recorded call, which begins now, because allocating their arrays is not part of it. */
fun begun(record: Record, stream: Stream, requests: Requests): StreamMessages =
    StreamMessages(stream, requests).also {
        record.messages = it
        record.begin = now()
    }

/** The messages of the call of `verify`, which keeps the responses in the form of the reply. */
class VerifiedMessages(stream: Stream, requests: Requests, private val format: Format) : StreamMessages(stream, requests) {
    private val responses = JsonArray()

    /** The reply to "verify". */
    val verified: JsonObject get() = json("stream" to responses)

    override fun received(response: Any) {
        if (responses.size() < MAX_VERIFIED) responses.add(format.verifiedBriefly(response))
        super.received(response)
    }
}

/** How many messages the lab wants to see of a call. */
private const val MAX_VERIFIED = 1000

/** Writes the records of the messages of streams, in the order of their calls. */
internal fun writeMessages(calls: List<Record>, file: FileChannel) {
    val chunk = ByteBuffer.allocateDirect(CHUNK).order(ByteOrder.LITTLE_ENDIAN)
    fun flush() {
        chunk.flip()
        while (chunk.hasRemaining()) file.write(chunk)
        chunk.clear()
    }
    for (call in calls) {
        val messages = checkNotNull(call.messages) { "a call of a stream has no messages" }
        for (number in 0 until call.operations) {
            messages.write(number, chunk)
            if (!chunk.hasRemaining()) flush()
        }
    }
    flush()
}
