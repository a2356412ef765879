package rpcgauge

/** A stack's features as declared in subject.toml, and the functions for its roles; null for a role that it lacks. */
class Stack(
    val name: String,
    val encodings: List<String>,
    val protocols: Map<String, List<String>> = emptyMap(),
    val styles: List<String> = emptyList(),
    val connections: List<String> = listOf("reuse"),
    val streams: List<Form> = emptyList(),
    /** The styles in which the library's API has streams. */
    val streamStyles: List<String> = styles,
    /** Whether the stack applies max_inflation to compressed bodies. */
    val boundsInflation: Boolean = false,
    /** Whether the library can limit the size of a message. */
    val boundsMessages: Boolean = true,
    val serve: ((ServerSettings, Workload) -> Server)? = null,
    val call: ((ClientSettings, Workload) -> Caller)? = null,
    val code: ((CodecSettings, Workload) -> Caller)? = null,
) {
    private fun has(role: String) = when (role) {
        "server" -> serve != null
        "client" -> call != null
        else -> code != null
    }

    /** Starts the stack in the role given by the settings: a server, or a client or codec to be measured. */
    fun start(asked: Settings, workload: Workload): AutoCloseable = when (asked) {
        is ServerSettings -> checkNotNull(serve)(asked, workload)
        is ClientSettings -> Measured(asked.records, asked.messageRecords) { checkNotNull(call)(asked, workload) }
        is CodecSettings -> Measured(asked.records, null) { checkNotNull(code)(asked, workload) }
    }

    /** Refuses settings that the stack does not support. */
    private fun check(asked: Settings) {
        want("encoding", asked.encoding, encodings)
        if (asked.limits.maxMessageBytes != null && !boundsMessages) throw lacks("limit max_message_bytes")
        if (asked.limits.maxDepth != null) throw lacks("limit max_depth")
        if (asked.limits.maxInflation != null && !boundsInflation) throw lacks("limit max_inflation")
        when (asked) {
            is ServerSettings -> {
                check(asked.calling)
                if (asked.threads > MAX_THREADS) throw lacks("${asked.threads} threads")
            }
            is ClientSettings -> {
                check(asked.calling)
                want("style", asked.style ?: styles.first(), styles)
                if (asked.calling.stream != null) want("streams in the style", asked.style ?: styles.first(), streamStyles)
                want("connection", asked.connection, connections)
                if (asked.inFlight > MAX_IN_FLIGHT) throw lacks("${asked.inFlight} calls in flight")
            }
            is CodecSettings -> {}
        }
    }

    private fun check(calling: Calling) {
        want("protocol", calling.protocol, protocols.keys)
        want("HTTP version", calling.http, protocols.getValue(calling.protocol))
        if (calling.stream == null) return
        if (streams.isEmpty()) throw lacks("streams")
        want("stream", calling.stream.form.word, streams.map { it.word })
    }

    private fun want(what: String, asked: String, can: Collection<String>) {
        if (asked !in can) throw user("the stack $name has no $what \"$asked\", only ${can.joinToString(", ")}")
    }

    private fun lacks(what: String) = user("the stack $name has no $what")

    companion object {
        private const val MAX_THREADS = 64
        private const val MAX_IN_FLIGHT = 1024

        /** Returns the stack for the settings, or refuses if it does not support all of them. */
        fun choose(stacks: List<Stack>, asked: Settings): Stack {
            val able = stacks.filter { it.has(asked.role) }
            val chosen = able.find { asked.stack == null || it.name == asked.stack }
            val names = able.joinToString(" and ") { it.name }.ifEmpty { "none" }
            chosen ?: throw user("no stack \"${asked.stack}\" is a ${asked.role} in this program: it has $names")
            chosen.check(asked)
            return chosen
        }
    }
}

/** A running server. */
interface Server : AutoCloseable {
    /** The address in the format of a ready line. */
    val address: String
}

/** A client or codec that is ready. */
interface Caller : Measurer
