package rpcgauge

import com.google.gson.JsonObject
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.Path
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.TRUNCATE_EXISTING
import java.nio.file.StandardOpenOption.WRITE

/** A client or a codec. */
interface Measurer {
    /** Makes one call or operation, and returns the value of "verified". */
    fun verify(): JsonObject

    /** Reopens lost connections, and returns their number. */
    fun reopen(): Int = 0

    /** Makes all calls of the tally. */
    fun run(tally: Tally)
}

/** The state of a slice: the calls still to be made, and the outcome of the others. */
class Tally(private val asked: Slice) {
    private val records = ArrayList<Record>()
    private var begun = 0L
    private var until = 0L
    private var cpuAtBegin: Long? = null
    private var cpuAtEnd: Long? = null
    private var error: Throwable? = null

    val operations: Int get() = maxOf(asked.batch, 1)

    /** Returns the next call with its begin, or null if there is none to make. */
    fun next(): Call? {
        val isRecorded = synchronized(this) { turn() } ?: return null
        val record = Record()
        record.operations = operations
        record.begin = now()
        return Call(record, isRecorded)
    }

    private fun turn(): Boolean? {
        val number = begun++
        if (number < asked.skip) return false
        if (number == asked.skip) {
            cpuAtBegin = ProcessClock.cpu()
            until = now() + 1000 * (asked.timeUs ?: 0)
            return true
        }
        val isMore = if (asked.calls != null) number - asked.skip < asked.calls else now() < until
        return if (isMore) true else null
    }

    inner class Call(val record: Record, private val isRecorded: Boolean) {
        fun done() {
            if (isRecorded) synchronized(this@Tally) { records.add(record) }
        }

        fun failed(why: Throwable) {
            if (!isRecorded) return
            record.fail()
            synchronized(this@Tally) {
                if (error == null) error = why
                records.add(record)
            }
        }
    }

    internal fun ended() {
        cpuAtEnd = ProcessClock.cpu()
        records.sortBy { it.begin }
    }

    internal fun bytes(): ByteBuffer = bytesOf(records)

    /** Writes the records of all messages, in the order of the calls. */
    internal fun writeMessages(file: FileChannel) = writeMessages(records, file)

    internal fun reply(reopened: Int): JsonObject = json(
        "records" to records.size,
        "cpu_ns" to cpuAtEnd?.minus(cpuAtBegin ?: 0),
        "reopened" to reopened.takeIf { it > 0 },
        "error" to error?.let(::oneLine),
    )
}

/** Replies to the lab's lines until its input ends; each line is for one of the parts. */
fun answer(lab: Conversation, parts: List<Measured>, inBatches: Boolean) {
    while (true) {
        val line = lab.hear() ?: return
        val ask = parseAsk(line, inBatches)
        val part = parts.getOrNull(ask.part) ?: throw instrument("no part ${ask.part}: there are ${parts.size}")
        lab.tell(if (ask.slice == null) json("verified" to part.verify()) else json("slice" to part.measure(ask.slice)))
    }
}

/**
 * A client or a codec with the files for its records and for those of its streams' messages, which are created first.
 */
class Measured(path: String, messagePath: String?, open: () -> Measurer) : AutoCloseable {
    private val file = created(path)
    private val messages = messagePath?.let(::created)

    private val measurer = open()

    fun verify(): JsonObject = measurer.verify()

    fun measure(slice: Slice): JsonObject {
        val reopened = measurer.reopen()
        val tally = Tally(slice)
        measurer.run(tally)
        tally.ended()
        val bytes = tally.bytes()
        try {
            messages?.let(tally::writeMessages)
            while (bytes.hasRemaining()) file.write(bytes)
        } catch (error: IOException) {
            throw unwritten(error)
        }
        return tally.reply(reopened)
    }

    private fun created(path: String): FileChannel = try {
        FileChannel.open(Path.of(path), CREATE, TRUNCATE_EXISTING, WRITE)
    } catch (error: IOException) {
        throw unwritten(error)
    }

    private fun unwritten(error: IOException) = Refused(Fault.MACHINE, "cannot write the records: ${oneLine(error)}")

    override fun close() {
        file.close()
        messages?.close()
    }
}
