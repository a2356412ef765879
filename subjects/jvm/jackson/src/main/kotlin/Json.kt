package rpcgauge.jackson

import com.fasterxml.jackson.annotation.JsonInclude
import com.google.protobuf.StringValue
import rpcgauge.AskedSample
import rpcgauge.Format
import rpcgauge.Handler
import rpcgauge.Sample
import rpcgauge.Series
import rpcgauge.Workload
import tools.jackson.databind.DeserializationFeature
import tools.jackson.databind.ObjectMapper
import tools.jackson.databind.ObjectReader
import tools.jackson.databind.ObjectWriter
import tools.jackson.databind.cfg.MapperBuilder
import tools.jackson.databind.json.JsonMapper
import tools.jackson.module.blackbird.BlackbirdModule
import tools.jackson.module.kotlin.kotlinModule

/** The configuration of all mappers for the data classes. Fields that are not set are omitted. */
fun <B : MapperBuilder<*, B>> B.forDataClasses(): B =
    addModule(kotlinModule())
        .addModule(BlackbirdModule())
        .changeDefaultPropertyInclusion { it.withValueInclusion(JsonInclude.Include.NON_NULL) }
        // Refuse text after the message.
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

fun jsonMapper(): JsonMapper = JsonMapper.builder().forDataClasses().build()

/** The formats for data classes. */
abstract class PlainFormat(protected val workload: Workload) : Format {
    protected val json: JsonMapper by lazy { jsonMapper() }

    override fun read(sample: Sample, asked: AskedSample): Any =
        json.readValue(workload.plainJson(sample, asked), workload.method.plain(sample))

    override fun write(message: Any): String = json.writeValueAsString(message)

    override fun handler(): Handler = workload.plainHandler { text, type -> json.readValue(text, type) }

    override fun series(): Series = workload.plainSeries { text, type -> json.readValue(text, type) }
}

/** Uses readers and writers for the two classes of a method, because a mapper would look up the class in each call. */
open class MapperFormat(workload: Workload, override val mediaType: String, mapper: (JsonMapper) -> ObjectMapper) :
    PlainFormat(workload) {
    private val readers: List<ObjectReader>
    private val writer: ObjectWriter

    init {
        val chosen = mapper(json)
        readers = Sample.values().map { chosen.readerFor(workload.method.plain(it)) }
        writer = chosen.writer()
    }

    override fun encode(message: Any): ByteArray = writer.writeValueAsBytes(message)

    override fun decode(body: ByteArray, sample: Sample): Any = readers[sample.ordinal].readValue(body)
}

class Json(workload: Workload) : MapperFormat(workload, "application/json", { it })

/**
 * JSON in the only string field of a protobuf message. StringValue has the same field as contract/proto/hybrid.proto,
 * and therefore the same bytes.
 */
class Hybrid(workload: Workload) : PlainFormat(workload) {
    private val readers = Sample.values().map { json.readerFor(workload.method.plain(it)) }
    private val writer = json.writer()

    override val mediaType get() = "application/vnd.rpcgauge.hybrid+protobuf"

    fun wrap(message: Any): StringValue = StringValue.of(writer.writeValueAsString(message))

    fun unwrap(hybrid: StringValue, sample: Sample): Any = readers[sample.ordinal].readValue(hybrid.value)

    override fun encode(message: Any): ByteArray = wrap(message).toByteArray()

    override fun decode(body: ByteArray, sample: Sample): Any = unwrap(StringValue.parseFrom(body), sample)
}
