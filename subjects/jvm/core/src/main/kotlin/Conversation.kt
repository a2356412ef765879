package rpcgauge

import com.google.gson.JsonArray
import com.google.gson.JsonElement
import com.google.gson.JsonObject
import java.io.BufferedInputStream
import java.io.ByteArrayOutputStream
import java.io.InputStream
import java.io.OutputStream

/** The subject's end of standard input and output. */
class Conversation(input: InputStream, private val output: OutputStream) {
    private val input = BufferedInputStream(input)

    /** Returns the next line, or null at the end. */
    fun hear(): String? {
        val line = ByteArrayOutputStream()
        while (true) {
            val byte = input.read()
            if (byte < 0 && line.size() == 0) return null
            if (byte < 0 || byte == '\n'.code) return line.toString(Charsets.UTF_8)
            line.write(byte)
            if (line.size() > MAX_LINE) throw instrument("a line is longer than $MAX_LINE bytes")
        }
    }

    /** Waits until the lab closes the input, and discards everything before that. */
    fun hearTheEnd() {
        input.transferTo(OutputStream.nullOutputStream())
    }

    fun tell(reply: JsonObject) {
        output.write("$reply\n".toByteArray())
        output.flush()
    }

    /**
     * Writes the ready line with the address of each part, which is null for a client or codec. All messages are of
     * generated classes: those of protoc, or the data classes that Jackson reads and writes.
     */
    fun tellReady(addresses: List<String?>, versions: Map<String, String>) {
        val ready = json("contract" to CONTRACT, "ready" to true, "versions" to versions)
        val parts = addresses.map { json("address" to it, "code" to "generated") }
        if (parts.size == 1) {
            parts.single().asMap().forEach(ready::add)
        } else {
            ready.add("parts", JsonArray().apply { parts.forEach(::add) })
        }
        tell(ready)
    }

    fun tellRefused(error: Throwable, fault: Fault) =
        tell(json("contract" to CONTRACT, "error" to oneLine(error), "fault" to fault.word))

    private companion object {
        const val MAX_LINE = 64 shl 20
    }
}

/** A JSON object; pairs with null are omitted. */
fun json(vararg pairs: Pair<String, Any?>): JsonObject {
    val made = JsonObject()
    for ((key, value) in pairs) {
        when (value) {
            null -> {}
            is JsonElement -> made.add(key, value)
            is Number -> made.addProperty(key, value)
            is Boolean -> made.addProperty(key, value)
            is Map<*, *> -> made.add(key, json(*value.map { "${it.key}" to it.value }.toTypedArray()))
            else -> made.addProperty(key, value.toString())
        }
    }
    return made
}
