package rpcgauge

import com.google.gson.JsonObject
import java.util.Base64

/** Encodes or decodes one message. */
class Codec(private val asked: CodecSettings, private val format: Format) : Caller {
    private val message = format.read(asked.sample, asked.samples.single())
    private val encoded: ByteArray
    private val blocking = Blocking(1)
    private val operation: () -> Any

    /** The last result. It is stored because a JIT compiler would remove operations whose result is not used. */
    @Volatile private var last: Any? = null

    init {
        encoded = encode()
        if (encoded.size > asked.limits.messageBytes) {
            throw user("the ${asked.sample.name.lowercase()} has ${encoded.size} bytes, more than the limit")
        }
        operation = if (asked.operation == "encode") ::encode else ::decode
    }

    override fun verify(): JsonObject =
        if (asked.operation == "encode") json("bytes" to Base64.getEncoder().encodeToString(encode()))
        else format.verified(decode())

    override fun run(tally: Tally) = blocking.run(tally) { record ->
        repeat(tally.operations) { last = operation() }
        record.end = now()
    }

    private fun encode(): ByteArray {
        val plain = format.encode(message)
        return if (asked.compression.isGzip) gzip(plain, asked.compression.level) else plain
    }

    private fun decode(): Any {
        val plain = if (asked.compression.isGzip) gunzip(encoded, asked.limits) else encoded
        return format.decode(plain, asked.sample)
    }
}
