package rpcgauge

import com.google.gson.JsonObject

private const val MAX_MESSAGES = 1_000_000L

/** Which sides of a call stream, and in REST also the format of the messages. */
enum class Form(val clientStreams: Boolean, val serverStreams: Boolean) {
    CLIENT(true, false),
    SERVER(false, true),
    BIDIRECTIONAL(true, true),
    NDJSON(false, true),
    SSE(false, true);

    /** Its name in settings. */
    val word: String = name.lowercase()

    companion object {
        /** The forms that a method of gRPC can have. */
        val GRPC: List<Form> = listOf(CLIENT, SERVER, BIDIRECTIONAL)
    }
}

/** How the messages of a call are exchanged. */
class Stream private constructor(
    val form: Form,
    private val messages: Int,
    /** Whether the client sends each message after the response to the previous one. */
    val inTurn: Boolean,
) {
    /** The number of messages that the client sends in each call. */
    val requests: Int get() = if (form.clientStreams) messages else 1

    /** The number of messages that the client must receive in each call. */
    val responses: Int get() = if (form.serverStreams) messages else 1

    internal companion object {
        fun read(from: JsonObject): Stream {
            val shape = Shape("the stream", from)
            val form = shape.oneOf("form", *Form.values().map { it.word }.toTypedArray())
            val stream = Stream(
                Form.valueOf(form.uppercase()),
                shape.integer("messages", 1, MAX_MESSAGES).toInt(),
                shape.flag("in_turn"),
            )
            shape.end()
            if (stream.inTurn && stream.form != Form.BIDIRECTIONAL) {
                throw instrument("the stream: only the messages of a bidirectional stream can be sent in turn")
            }
            return stream
        }
    }
}

/** The kind of a method or of calls, for errors. */
internal fun kind(form: Form?): String = form?.word ?: "unary"
