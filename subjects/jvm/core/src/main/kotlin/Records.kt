package rpcgauge

import java.nio.ByteBuffer
import java.nio.ByteOrder

const val RECORD_BYTES = 80

/** The value of a size that the library does not expose. */
const val NOT_KNOWN = -1

/** One call or batch. Times are readings of the monotonic clock; 0 means that the time cannot be observed. */
class Record {
    @JvmField var begin = 0L
    @JvmField var encoded = 0L
    @JvmField var sent = 0L
    @JvmField var first = 0L
    @JvmField var received = 0L
    @JvmField var end = 0L
    @JvmField var handlerStart = 0L
    @JvmField var handlerEnd = 0L
    @JvmField var requestBytes = NOT_KNOWN
    @JvmField var responseBytes = NOT_KNOWN
    @JvmField var failed = false
    @JvmField var operations = 1

    /** The messages of a stream; null for a unary call or a batch. */
    @JvmField var messages: StreamMessages? = null

    /** Keeps only the fields that are known for a failed call. */
    fun fail() {
        encoded = 0
        sent = 0
        first = 0
        received = 0
        end = now()
        handlerStart = 0
        handlerEnd = 0
        requestBytes = NOT_KNOWN
        responseBytes = NOT_KNOWN
        failed = true
        messages?.let { operations = it.trim() }
    }

    /** Reads the marks from a response's headers. If a header is missing or not a number, the mark was not observed. */
    fun readMarks(header: (String) -> String?) {
        handlerStart = header(HANDLER_START)?.toLongOrNull() ?: 0
        handlerEnd = header(HANDLER_END)?.toLongOrNull() ?: 0
    }

    fun write(into: ByteBuffer) {
        into.putLong(begin).putLong(encoded).putLong(sent).putLong(first).putLong(received).putLong(end)
            .putLong(handlerStart).putLong(handlerEnd).putInt(requestBytes).putInt(responseBytes)
            .putInt(if (failed) 1 else 0).putInt(operations)
    }
}

/** Returns the records in the format of the file. */
fun bytesOf(records: List<Record>): ByteBuffer {
    val bytes = ByteBuffer.allocate(records.size * RECORD_BYTES).order(ByteOrder.LITTLE_ENDIAN)
    records.forEach { it.write(bytes) }
    return bytes.flip()
}
