package rpcgauge

import com.google.gson.JsonObject
import com.google.protobuf.Message
import java.util.Base64

/** Encodes messages as bodies, with the types of the library that encodes them. */
interface Format {
    val mediaType: String

    fun encode(message: Any): ByteArray

    fun decode(body: ByteArray, sample: Sample): Any

    /** Converts a sample to a message. */
    fun read(sample: Sample, asked: AskedSample): Any

    /** Converts a message to the proto3 JSON mapping. */
    fun write(message: Any): String

    /** The reply to "verify" for a decoded message. */
    fun verified(message: Any): JsonObject = json("message" to parsed(write(message)))

    /** The same in the shortest form, because a stream can have many messages. */
    fun verifiedBriefly(message: Any): JsonObject = verified(message)

    /** The service for these types. */
    fun handler(): Handler

    /** The responses of a stream in these types. */
    fun series(): Series
}

/** The formats for protoc's messages. */
abstract class ProtoFormat(protected val workload: Workload) : Format {
    override fun read(sample: Sample, asked: AskedSample): Any = workload.proto(sample, asked)

    override fun write(message: Any): String = workload.printer.print(message as Message)

    override fun handler(): Handler = workload.protoHandler()

    override fun series(): Series = workload.protoSeries()
}

class Protobuf(workload: Workload) : ProtoFormat(workload) {
    private val parsers = Sample.values().map { workload.method.proto(it).parserForType }

    override val mediaType get() = "application/protobuf"

    override fun encode(message: Any): ByteArray = (message as Message).toByteArray()

    override fun decode(body: ByteArray, sample: Sample): Any =
        parsers[sample.ordinal].parseFrom(body, workload.method.extensions)

    override fun verified(message: Any): JsonObject =
        if (workload.inBytes) verifiedBriefly(message) else super.verified(message)

    override fun verifiedBriefly(message: Any): JsonObject =
        json("protobuf" to Base64.getEncoder().encodeToString(encode(message)))
}

/** protobuf's JsonFormat, which writes and reads text. */
class ProtoJson(workload: Workload) : ProtoFormat(workload) {
    private val empty = Sample.values().map { workload.method.proto(it) }

    override val mediaType get() = "application/json"

    override fun encode(message: Any): ByteArray = write(message).toByteArray()

    override fun decode(body: ByteArray, sample: Sample): Any {
        val into = empty[sample.ordinal].newBuilderForType()
        workload.parser.merge(String(body), into)
        return into.build()
    }
}
