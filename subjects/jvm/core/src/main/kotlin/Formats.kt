package rpcgauge

import com.google.gson.JsonObject
import com.google.protobuf.Message
import java.util.Base64

/** How a body is made of a message, with the types of the library that makes it. */
interface Format {
    val mediaType: String

    fun encode(message: Any): ByteArray

    fun decode(body: ByteArray, sample: Sample): Any

    /** Makes a message of a sample. */
    fun read(sample: Sample, asked: AskedSample): Any

    /** A message in the proto3 JSON mapping. */
    fun write(message: Any): String

    /** The answer to "verify" of one that decodes. */
    fun verified(message: Any): JsonObject = json("message" to parsed(write(message)))

    /** The service with these types. */
    fun handler(): Handler
}

/** The formats of protoc's messages. */
abstract class ProtoFormat(protected val workload: Workload) : Format {
    override fun read(sample: Sample, asked: AskedSample): Any = workload.proto(sample, asked)

    override fun write(message: Any): String = workload.printer.print(message as Message)

    override fun handler(): Handler = workload.protoHandler()
}

class Protobuf(workload: Workload) : ProtoFormat(workload) {
    private val parsers = Sample.values().map { workload.method.proto(it).parserForType }

    override val mediaType get() = "application/protobuf"

    override fun encode(message: Any): ByteArray = (message as Message).toByteArray()

    override fun decode(body: ByteArray, sample: Sample): Any =
        parsers[sample.ordinal].parseFrom(body, workload.method.extensions)

    override fun verified(message: Any): JsonObject {
        if (!workload.inBytes) return super.verified(message)
        return json("protobuf" to Base64.getEncoder().encodeToString(encode(message)))
    }
}

/** protobuf's JsonFormat, which writes to and reads from text. */
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
