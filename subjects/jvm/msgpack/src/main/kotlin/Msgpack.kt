package rpcgauge.msgpack

import com.fasterxml.jackson.annotation.JsonInclude
import com.fasterxml.jackson.databind.DeserializationFeature
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

private fun forDataClasses(mapper: ObjectMapper): ObjectMapper = mapper
    .registerModules(kotlinModule(), JavaTimeModule(), BlackbirdModule())
    .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
    .setDefaultPropertyInclusion(JsonInclude.Include.NON_NULL)

/** Jackson 2's mapper for JSON, as in Boot 3. */
fun mapper2(): ObjectMapper = forDataClasses(ObjectMapper()).enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

/** The MessagePack project's format for Jackson, which exists only for Jackson 2. */
fun msgpackMapper(): ObjectMapper = forDataClasses(ObjectMapper(MessagePackFactory()))

/** Readers and writers of Jackson 2. The data classes have the annotations that both versions use. */
abstract class Format2(workload: Workload, override val mediaType: String, mapper: ObjectMapper) : PlainFormat(workload) {
    private val readers: List<ObjectReader> = Sample.values().map { mapper.readerFor(workload.method.plain(it)) }
    private val writer: ObjectWriter = mapper.writer()

    override fun encode(message: Any): ByteArray = writer.writeValueAsBytes(message)

    override fun decode(body: ByteArray, sample: Sample): Any = readers[sample.ordinal].readValue(body)
}

class Msgpack(workload: Workload) : Format2(workload, "application/msgpack", msgpackMapper())

class Json2(workload: Workload) : Format2(workload, "application/json", mapper2())
