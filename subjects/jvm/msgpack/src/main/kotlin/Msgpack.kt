package rpcgauge.msgpack

import com.fasterxml.jackson.annotation.JsonInclude
import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.ObjectReader
import com.fasterxml.jackson.databind.ObjectWriter
import com.fasterxml.jackson.databind.SerializationFeature
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule
import com.fasterxml.jackson.module.blackbird.BlackbirdModule
import com.fasterxml.jackson.module.kotlin.kotlinModule
import org.msgpack.jackson.dataformat.MessagePackFactory
import rpcgauge.Sample
import rpcgauge.Workload
import rpcgauge.jackson.PlainFormat

/**
 * The MessagePack project's format for Jackson, which there is for Jackson 2 only. The data classes'
 * annotations are those of both.
 */
class Msgpack(workload: Workload) : PlainFormat(workload) {
    private val readers: List<ObjectReader>
    private val writer: ObjectWriter

    init {
        val mapper = ObjectMapper(MessagePackFactory())
            .registerModules(kotlinModule(), JavaTimeModule(), BlackbirdModule())
            .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
            .setDefaultPropertyInclusion(JsonInclude.Include.NON_NULL)
        readers = Sample.values().map { mapper.readerFor(workload.method.plain(it)) }
        writer = mapper.writer()
    }

    override val mediaType get() = "application/msgpack"

    override fun encode(message: Any): ByteArray = writer.writeValueAsBytes(message)

    override fun decode(body: ByteArray, sample: Sample): Any = readers[sample.ordinal].readValue(body)
}
