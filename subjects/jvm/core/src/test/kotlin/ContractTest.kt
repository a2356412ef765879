package rpcgauge

import com.google.gson.JsonObject
import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.CompletableFuture
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

private const val SERVER = """{"contract":1,"role":"server","workload":{"name":"list","n":3},"protocol":"grpc",""" +
    """"http":"2","encoding":"protobuf","listen":{"transport":"tcp"}}"""

private val STACK = Stack(
    name = "one",
    protocols = mapOf("grpc" to listOf("2")),
    encodings = listOf("protobuf"),
    serve = { _, _ -> error("it is not started") },
)

class ContractTest {
    private fun refused(from: String, to: String): Refused {
        val line = SERVER.replaceFirst(from, to)
        assertTrue(line != SERVER, from)
        return assertThrows(Refused::class.java) { Stack.choose(listOf(STACK), parseSettings(line).single()) }
    }

    @Test
    fun `a whole line is read`() {
        val settings = parseSettings(SERVER).single() as ServerSettings
        assertEquals(3, settings.workload.n)
        assertEquals(1, settings.threads)
        assertEquals("127.0.0.1", settings.listen.host)
        assertEquals(16 shl 20, settings.limits.messageBytes)
        assertEquals(STACK, Stack.choose(listOf(STACK), settings))
    }

    @Test
    fun `what is not understood is refused and never skipped`() {
        for ((from, to, fault) in listOf(
            Triple("\"contract\":1", "\"contract\":3", Fault.INSTRUMENT),
            Triple("\"contract\":1", "\"contract\":\"1\"", Fault.INSTRUMENT),
            Triple("\"role\":\"server\"", "\"role\":\"waiter\"", Fault.INSTRUMENT),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"pace\":1", Fault.INSTRUMENT),
            Triple("\"http\":\"2\"", "\"http\":2", Fault.INSTRUMENT),
            Triple("\"http\":\"2\"", "\"http\":\"1.1\"", Fault.USER),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"threads\":0", Fault.INSTRUMENT),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"threads\":1.5", Fault.INSTRUMENT),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"threads\":65", Fault.USER),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"marks\":1", Fault.INSTRUMENT),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"stack\":\"two\"", Fault.USER),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"limits\":{\"max_depth\":3}", Fault.USER),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"limits\":{\"max_size\":3}", Fault.INSTRUMENT),
            Triple("\"http\":\"2\"", "\"http\":\"2\",\"response_compression\":\"zstd\"", Fault.USER),
            Triple("\"n\":3", "\"n\":-1", Fault.INSTRUMENT),
            Triple(",\"n\":3", "", Fault.INSTRUMENT),
            Triple("\"list\",\"n\":3", "\"hello\",\"n\":3", Fault.INSTRUMENT),
            Triple("\"list\",\"n\":3", "\"siesta\"", Fault.USER),
            Triple("\"protobuf\"", "\"semaphore\"", Fault.INSTRUMENT),
            Triple("\"protobuf\"", "\"cbor\"", Fault.USER),
            Triple("{\"transport\":\"tcp\"}", "{\"transport\":\"unix\"}", Fault.INSTRUMENT),
            Triple("{\"transport\":\"tcp\"}}", "{\"transport\":\"tcp\"}} 1", Fault.INSTRUMENT),
        )) {
            assertEquals(fault, refused(from, to).fault, to)
        }
    }

    private fun parts(role: String, parts: List<String>, more: String = "") =
        parseSettings("""{"contract":1,"role":"$role","parts":[${parts.joinToString(",")}]$more}""")

    @Test
    fun `parts are read as what is alone`() {
        val server = SERVER.replace("\"contract\":1,\"role\":\"server\",", "")
        val two = parts("servers", listOf(server, server.replace("\"n\":3", "\"n\":4")))
        assertEquals(listOf(3, 4), two.map { (it as ServerSettings).workload.n })
        assertEquals(64, parts("servers", List(64) { server }).size)
        for (wrong in listOf<() -> Any>(
            { parts("servers", listOf(server)) },
            { parts("servers", List(65) { server }) },
            { parts("servers", listOf(server, SERVER)) },
            { parts("servers", listOf(server, "1")) },
            { parts("servers", listOf(server, server), ""","threads":2""") },
            { parts("server", listOf(server, server)) },
            { parts("clients", listOf(server, server)) },
            { parts("codecs", listOf(server, server)) },
        )) assertEquals(Fault.INSTRUMENT, assertThrows(Refused::class.java) { wrong() }.fault)
    }

    @Test
    fun `a ready line has the parts, or what it says of one`() {
        fun ready(vararg addresses: String?): String {
            val out = ByteArrayOutputStream()
            Conversation("".byteInputStream(), out).tellReady(addresses.asList(), mapOf("java" to "17"))
            return "$out".trim()
        }
        val begin = """{"contract":1,"ready":true,"versions":{"java":"17"},"""
        assertEquals("""$begin"address":"a:1","code":"generated"}""", ready("a:1"))
        assertEquals("""$begin"code":"generated"}""", ready(null))
        val parts = """"parts":[{"address":"a:1","code":"generated"},{"address":"a:2","code":"generated"}]"""
        assertEquals("$begin$parts}", ready("a:1", "a:2"))
    }

    private fun codec(message: String, more: String) = parseSettings(
        """{"contract":1,"role":"codec","workload":{"name":"hello"},"encoding":"protobuf","sample":"request",""" +
            """"message":$message,"operation":"encode","records":"/r"$more}""",
    ).single()

    @Test
    fun `a sample is any JSON, and the same in bytes where the line has them`() {
        for (json in listOf("{\"a\":1}", "\"1.5s\"", "[1,null]", "null")) {
            val sample = codec(json, "").samples.single()
            assertEquals(json, sample.json)
            assertNull(sample.protobuf)
        }
        val sample = codec("{}", ""","protobuf_samples":["AQI="]""").samples.single()
        assertArrayEquals(byteArrayOf(1, 2), sample.protobuf)
        for (wrong in listOf("[]", "[\"AQI=\",\"\"]", "[\"AQI\",\"!\"]", "[\"!\"]", "[1]", "\"AQI=\"")) {
            val refused = assertThrows(Refused::class.java, { codec("{}", ""","protobuf_samples":$wrong""") }, wrong)
            assertEquals(Fault.INSTRUMENT, refused.fault)
        }
        val own = """{"name":"own","descriptor_set":"","method":"a.B/C","request":null,"response":"1.5s"}"""
        val line = SERVER.replace("""{"name":"list","n":3}""", own)
        assertEquals("\"1.5s\"", parseSettings(line).single().samples.single().json)
        assertTrue(parseSettings(SERVER).single().samples.isEmpty())
    }

    @Test
    fun `a compression is a level`() {
        val levels = listOf("none" to 0, "gzip" to 6, "gzip:1" to 1, "gzip:9" to 9)
        for ((name, level) in levels) assertEquals(level, Compression.of(name).level)
        for (name in listOf("", "gzip:", "gzip:0", "gzip:10", "zstd:3")) {
            assertThrows(Refused::class.java, { Compression.of(name) }, name)
        }
    }

    @Test
    fun `what is compressed is inflated within the limits`() {
        val plain = ByteArray(100_000) { (it / 7).toByte() }
        for (level in 1..9) assertTrue(plain.contentEquals(gunzip(gzip(plain, level), Limits(null, null, null))))
        val error = assertThrows(java.io.IOException::class.java) { gunzip(gzip(plain, 6), Limits(99_999, null, null)) }
        assertTrue("limit" in oneLine(error))
    }

    @Test
    fun `records are written as the golden ones`() {
        val golden = parseObject(Files.readString(Path.of("../../../contract/golden/calls.json")), "calls.json")
        for (element in golden["records"].asJsonArray) {
            val case = element.asJsonObject
            val record = recordOf(case["means"].asJsonObject)
            val bytes = bytesOf(listOf(record)).let { bytes -> ByteArray(bytes.remaining()).also(bytes::get) }
            assertEquals(case["hex"].asString, bytes.joinToString("") { "%02x".format(it) }, case["what"].asString)
        }
    }

    private fun recordOf(means: JsonObject) = Record().apply {
        fun time(key: String) = means[key]?.asLong ?: 0
        fun size(key: String) = means[key]?.asLong?.toInt() ?: NOT_KNOWN
        begin = time("begin")
        encoded = time("encoded")
        sent = time("sent")
        first = time("first byte")
        received = time("received")
        end = time("end")
        handlerStart = time("handler start")
        handlerEnd = time("handler end")
        requestBytes = size("request bytes")
        responseBytes = size("response bytes")
        failed = means["status"].asInt == 1
        operations = means["operations"].asInt
    }
}

/** Fails every third call. */
private class Counter(private val style: (Tally, (Record) -> Unit) -> Unit) : Measurer {
    private val calls = java.util.concurrent.atomic.AtomicInteger()

    override fun verify() = json("message" to "verified")

    override fun reopen() = 2

    override fun run(tally: Tally) = style(tally) {
        if (calls.incrementAndGet() % 3 == 0) throw IllegalStateException("every\nthird")
        it.end = now()
    }
}

class SlicesTest {
    @TempDir lateinit var folder: Path

    private fun at(call: (Record) -> Unit, record: Record, end: (Throwable?) -> Unit) =
        end(runCatching { call(record) }.exceptionOrNull())

    @Test
    fun `slices have as many records as are asked for, in every style`() {
        val styles: List<Pair<String, (Tally, (Record) -> Unit) -> Unit>> = listOf(1, 4).flatMap { inFlight ->
            val blocking = Blocking(inFlight)
            val overlapping = Overlapping(inFlight)
            listOf(
                "blocking" to { tally, call -> blocking.run(tally, call) },
                "at once" to { tally, call -> overlapping.run(tally) { record, end -> at(call, record, end) } },
                "later" to { tally, call ->
                    overlapping.run(tally) { record, end -> CompletableFuture.runAsync { at(call, record, end) } }
                },
            )
        }
        for ((name, style) in styles) {
            val lines = listOf(
                """{"verify":true}""",
                """{"slice":{"skip":2,"calls":7}}""",
                """{"slice":{"skip":0,"time_us":0}}""",
            ).joinToString("\n")
            val out = ByteArrayOutputStream()
            val file = folder.resolve("records")
            Measured("$file", null) { Counter(style) }.use { answer(Conversation(lines.byteInputStream(), out), listOf(it), false) }
            val (verified, slice, timed) = out.toString().lines()
            assertEquals("""{"verified":{"message":"verified"}}""", verified)
            for (part in listOf("\"records\":7", "\"error\":\"every third\"", "\"reopened\":2")) assertTrue(part in slice, "$name: $slice")
            assertTrue("\"records\":" in timed, timed)
            val bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN)
            val count = 7 + Regex("\"records\":(\\d+)").find(timed)!!.groupValues[1].toInt()
            assertEquals(count * RECORD_BYTES, bytes.remaining(), name)
            val begins = (0 until 7).map { bytes.getLong(it * RECORD_BYTES) }
            assertEquals(begins.sorted(), begins, name)
        }
    }

    @Test
    fun `each part has its own measurer and its own records`() {
        val lines = listOf(
            """{"part":1,"slice":{"skip":1,"calls":3}}""",
            """{"slice":{"skip":0,"calls":1}}""",
            """{"part":1,"verify":true}""",
            """{"part":1,"slice":{"skip":0,"calls":2}}""",
            """{"part":2,"verify":true}""",
        ).joinToString("\n")
        val out = ByteArrayOutputStream()
        val files = listOf("first", "second").map(folder::resolve)
        val blocking = Blocking(1)
        val parts = files.map { file -> Measured("$file", null) { Counter { tally, call -> blocking.run(tally, call) } } }
        val refused = assertThrows(Refused::class.java) { answer(Conversation(lines.byteInputStream(), out), parts, false) }
        parts.forEach { it.close() }
        assertEquals(Fault.INSTRUMENT, refused.fault)
        assertEquals(4, "$out".lines().count { it.isNotEmpty() })
        assertEquals(listOf(1L, 5L), files.map { Files.size(it) / RECORD_BYTES })
    }

    @Test
    fun `a call that ends at once does not make the stack grow`() {
        val tally = Tally(Slice(0, 100_000, null, 0))
        Overlapping(1).run(tally) { _, end -> end(null) }
        assertEquals(100_000 * RECORD_BYTES, tally.bytes().remaining())
    }

    @Test
    fun `a line that is not understood is refused`() {
        for (line in listOf(
            "{}",
            """{"verify":false}""",
            """{"verify":true,"slice":{"skip":0,"calls":1}}""",
            """{"slice":{"calls":1}}""",
            """{"slice":{"skip":0}}""",
            """{"slice":{"skip":0,"calls":0}}""",
            """{"slice":{"skip":0,"calls":1,"time_us":1}}""",
            """{"slice":{"skip":0,"calls":1,"batch":1}}""",
            """{"slice":{"skip":0,"calls":1,"pace":1}}""",
            """{"part":-1,"verify":true}""",
            """{"part":"1","verify":true}""",
        )) assertThrows(Refused::class.java, { parseAsk(line, false) }, line)
        assertNull(parseAsk("""{"verify":true}""", false).slice)
        assertEquals(3, parseAsk("""{"part":3,"verify":true}""", false).part)
        assertEquals(4, parseAsk("""{"slice":{"skip":0,"calls":1,"batch":4}}""", true).slice?.batch)
    }
}
