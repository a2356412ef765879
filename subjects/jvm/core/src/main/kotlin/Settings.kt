package rpcgauge

import com.google.gson.JsonElement
import com.google.gson.JsonObject
import java.util.Base64

/** The contract version of replies, which are the same in all versions. */
const val CONTRACT = 1

/** The contract version that added streams. */
private const val STREAMS = 2

/** The headers that `marks` adds to a successful response. */
const val HANDLER_START = "rpcgauge-handler-start"
const val HANDLER_END = "rpcgauge-handler-end"

private const val LINE = "the settings line"
private const val MAX_UINT32 = 4_294_967_295L
private val PARTS = 2..64
private const val MAX_DEPTH = 100L
private val SIZED = setOf("echo", "list", "records", "followers")
private val UNSIZED = setOf("hello", "items", "profile")

/** gzip's level; 0 means no compression. */
class Compression private constructor(val level: Int) {
    val isGzip: Boolean get() = level > 0

    companion object {
        const val DEFAULT_LEVEL = 6
        val NONE = Compression(0)
        private val WRITTEN = Regex("gzip(:([1-9]))?")

        fun of(name: String): Compression {
            if (name == "none") return NONE
            val gzip = WRITTEN.matchEntire(name)
                ?: throw user("compression \"$name\": this subject supports none, gzip, and gzip:1 to gzip:9")
            return Compression(gzip.groupValues[2].ifEmpty { "$DEFAULT_LEVEL" }.toInt())
        }
    }
}

/** Limits; null for those that the line does not set. */
class Limits(val maxMessageBytes: Long?, val maxDepth: Long?, val maxInflation: Long?) {
    val messageBytes: Int get() = (maxMessageBytes ?: DEFAULT_MESSAGE_BYTES).coerceAtMost(Int.MAX_VALUE.toLong()).toInt()

    /** The maximum size that a number of compressed bytes may decompress to. */
    fun inflated(compressed: Int): Long =
        minOf(messageBytes.toLong(), maxOf(FREE_BYTES, compressed * (maxInflation ?: DEFAULT_INFLATION)))

    private companion object {
        const val DEFAULT_MESSAGE_BYTES = 16L shl 20
        const val DEFAULT_INFLATION = 10_000L
        /** The size that is always allowed, however small the compressed input. */
        const val FREE_BYTES = 64L shl 10
    }
}

/** A sample in the proto3 JSON mapping, and as protobuf bytes if the settings contain them. */
class AskedSample(val json: String, val protobuf: ByteArray?)

/** The user's method and the server's response. */
class Own(val method: String, val response: JsonElement)

class AskedWorkload(val name: String, val n: Int, val own: Own?)

sealed class Settings(
    val role: String,
    /** Null for a codec. */
    open val calling: Calling?,
    val stack: String?,
    val workload: AskedWorkload,
    val encoding: String,
    val limits: Limits,
    /** A server's response for `own`, a client's requests, or a codec's message. */
    val samples: List<AskedSample>,
)

/** The settings that servers and clients share. */
class Calling(
    val protocol: String,
    val http: String,
    val responseCompression: Compression,
    val marks: Boolean,
    /** Null for unary calls. */
    val stream: Stream?,
)

/** The settings that all roles share, while they are being parsed. */
private class Common(shape: Shape) {
    val stack = shape.textOrNull("stack")
    val workload = workload(shape.obj("workload"))
    val encoding = shape.oneOf("encoding", "protobuf", "json", "json-proto-names", "protojson", "msgpack", "cbor", "hybrid")
    val limits = limits(shape.objectOrNull("limits") ?: JsonObject())
}

class ServerSettings private constructor(
    common: Common,
    samples: List<AskedSample>,
    override val calling: Calling,
    val listen: Listen,
    val threads: Int,
) : Settings("server", calling, common.stack, common.workload, common.encoding, common.limits, samples) {
    internal companion object {
        fun read(shape: Shape, version: Int): ServerSettings {
            val common = Common(shape)
            return ServerSettings(
                common,
                samples(shape, listOfNotNull(common.workload.own?.response)),
                calling(shape, version),
                listen(shape.obj("listen")),
                shape.integerOrNull("threads", 1, Int.MAX_VALUE.toLong())?.toInt() ?: 1,
            )
        }
    }
}

/** Where a server listens: the path of a Unix socket, or a host whose port the system chooses. */
class Listen(val path: String?, val host: String)

class ClientSettings private constructor(
    common: Common,
    override val calling: Calling,
    val address: String,
    samples: List<AskedSample>,
    val requestCompression: Compression,
    val connection: String,
    val style: String?,
    val inFlight: Int,
    val deadlineMs: Long,
    val records: String,
    /** The file for the records of a stream's messages. */
    val messageRecords: String?,
) : Settings("client", calling, common.stack, common.workload, common.encoding, common.limits, samples) {
    internal companion object {
        fun read(shape: Shape, version: Int): ClientSettings {
            val common = Common(shape)
            val calling = calling(shape, version)
            return ClientSettings(
                common,
                calling,
                shape.text("address"),
                samples(shape, shape.list("requests")),
                compression(shape, "request_compression"),
                shape.oneOfOrNull("connection", listOf("reuse", "per-call")) ?: "reuse",
                shape.oneOfOrNull("style", listOf("blocking", "future", "coroutine", "async")),
                shape.integerOrNull("in_flight", 1, Int.MAX_VALUE.toLong())?.toInt() ?: 1,
                shape.integer("deadline_ms", 1),
                shape.text("records"),
                calling.stream?.let { shape.text("message_records") },
            )
        }
    }
}

class CodecSettings private constructor(
    common: Common,
    val sample: Sample,
    samples: List<AskedSample>,
    val operation: String,
    val compression: Compression,
    val records: String,
) : Settings("codec", null, common.stack, common.workload, common.encoding, common.limits, samples) {
    internal companion object {
        fun read(shape: Shape) = CodecSettings(
            Common(shape),
            Sample.valueOf(shape.oneOf("sample", "request", "response").uppercase()),
            samples(shape, listOf(shape.any("message"))),
            shape.oneOf("operation", "encode", "decode"),
            compression(shape, "compression"),
            shape.text("records"),
        )
    }
}

/**
 * Parses a settings line: its version first, then its role, then all of its keys. Returns the settings of each part, or
 * of the only one; all parts have the same role.
 */
fun parseSettings(line: String): List<Settings> {
    val whole = parseObject(line, LINE)
    val asked = whole["contract"]
    val version = (CONTRACT..STREAMS).find { "$it" == "$asked" }
        ?: throw instrument("$LINE has contract version ${asked ?: "none"}; this subject supports $CONTRACT and $STREAMS")
    val shape = Shape(LINE, whole)
    shape.any("contract")
    fun each(parts: List<Shape>, read: (Shape) -> Settings) = parts.map { part -> read(part).also { part.end() } }
    return when (val role = shape.any("role").toString()) {
        "\"server\"" -> each(listOf(shape)) { ServerSettings.read(it, version) }
        "\"client\"" -> each(listOf(shape)) { ClientSettings.read(it, version) }
        "\"codec\"" -> each(listOf(shape), CodecSettings::read)
        "\"servers\"" -> each(parts(shape)) { ServerSettings.read(it, version) }
        "\"clients\"" -> each(parts(shape)) { ClientSettings.read(it, version) }
        else -> throw instrument("there is no role $role: this subject supports server, client, codec, servers and clients")
    }
}

private fun parts(line: Shape): List<Shape> {
    val parts = line.list("parts")
    line.end()
    if (parts.size !in PARTS) throw instrument("$LINE must have from ${PARTS.first} to ${PARTS.last} parts, not ${parts.size}")
    return parts.mapIndexed { number, part ->
        Shape("part $number", part as? JsonObject ?: throw instrument("part $number is not a JSON object"))
    }
}

private fun samples(shape: Shape, json: List<JsonElement>): List<AskedSample> {
    val key = "protobuf_samples"
    if (!shape.has(key)) return json.map { AskedSample("$it", null) }
    val protobuf = shape.list(key)
    if (protobuf.size != json.size) throw instrument("$LINE has ${protobuf.size} $key of ${json.size} samples")
    return json.zip(protobuf) { text, base64 ->
        val bytes = runCatching { Base64.getDecoder().decode(base64.asString) }.getOrNull()
        AskedSample("$text", bytes ?: throw instrument("$LINE: an element of $key is not base64"))
    }
}

private fun compression(shape: Shape, key: String) = Compression.of(shape.textOrNull(key) ?: "none")

private fun calling(shape: Shape, version: Int): Calling {
    val calling = Calling(
        shape.oneOf("protocol", "grpc", "rest"),
        shape.oneOf("http", "1.1", "2"),
        compression(shape, "response_compression"),
        shape.flag("marks"),
        shape.objectOrNull("stream")?.let(Stream::read),
    )
    if (calling.stream == null) return calling
    if (version < STREAMS) throw instrument("$LINE has a stream, which requires contract version $STREAMS")
    if (calling.marks) throw instrument("$LINE has marks, which streams do not have")
    return calling
}

private fun listen(from: JsonObject): Listen {
    val shape = Shape("listen", from)
    val unix = shape.oneOf("transport", "tcp", "unix") == "unix"
    val host = shape.textOrNull("host") ?: "127.0.0.1"
    val path = shape.textOrNull("path")
    shape.end()
    if (unix != (path != null)) throw instrument("listen must have a path for a Unix socket, and none for TCP")
    return Listen(path, host)
}

private fun limits(from: JsonObject): Limits {
    val shape = Shape("limits", from)
    val limits = Limits(
        shape.integerOrNull("max_message_bytes", 1, MAX_UINT32),
        shape.integerOrNull("max_depth", 1, MAX_DEPTH),
        shape.integerOrNull("max_inflation", 1, Int.MAX_VALUE.toLong()),
    )
    shape.end()
    return limits
}

private fun workload(from: JsonObject): AskedWorkload {
    val shape = Shape("the workload", from)
    val name = shape.text("name")
    val asked = when (name) {
        "own" -> {
            shape.text("descriptor_set")
            shape.any("request")
            AskedWorkload(name, 0, Own(shape.text("method"), shape.any("response")))
        }
        in SIZED -> AskedWorkload(name, shape.integer("n", 0, Int.MAX_VALUE.toLong()).toInt(), null)
        in UNSIZED -> AskedWorkload(name, 0, null)
        else -> throw user("there is no workload \"$name\"")
    }
    shape.end()
    return asked
}
