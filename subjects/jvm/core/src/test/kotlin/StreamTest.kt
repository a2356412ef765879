package rpcgauge

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.WRITE
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

private const val PART = """"workload":{"name":"items"},"protocol":"grpc","http":"2","encoding":"protobuf","address":"a:1",""" +
    """"requests":[{}],"deadline_ms":1,"records":"/r","message_records":"/m","stream":{"form":"bidirectional","messages":3}"""
private const val CLIENT = """{"contract":2,"role":"client",$PART}"""

private val STREAMING = Stack(
    name = "one",
    protocols = mapOf("grpc" to listOf("2")),
    encodings = listOf("protobuf"),
    styles = listOf("blocking", "future"),
    streams = listOf(Form.SERVER, Form.BIDIRECTIONAL),
    streamStyles = listOf("blocking"),
    call = { _, _ -> error("it is not started") },
)

class StreamTest {
    @TempDir lateinit var folder: Path

    private fun chosen(line: String, stack: Stack = STREAMING) = parseSettings(line).map { Stack.choose(listOf(stack), it) }

    private fun stream(line: String) = checkNotNull(parseSettings(line).single().calling?.stream)

    @Test
    fun `a stream is read, also that of a part`() {
        chosen(CLIENT)
        val stream = stream(CLIENT)
        assertEquals(listOf(3, 3), listOf(stream.requests, stream.responses))
        assertFalse(stream.inTurn)
        assertTrue(stream(CLIENT.replace("\"messages\":3", "\"messages\":1000000,\"in_turn\":true")).inTurn)
        val server = stream(CLIENT.replace("bidirectional", "server"))
        assertEquals(listOf(1, 3), listOf(server.requests, server.responses))
        val parts = parseSettings("""{"contract":2,"role":"clients","parts":[{$PART},{$PART}]}""")
        assertEquals(listOf(Form.BIDIRECTIONAL, Form.BIDIRECTIONAL), parts.map { it.calling?.stream?.form })
    }

    @Test
    fun `a stream that cannot be is refused`() {
        for ((from, to, fault) in listOf(
            Triple("\"contract\":2", "\"contract\":1", Fault.INSTRUMENT),
            Triple("\"contract\":2", "\"contract\":3", Fault.INSTRUMENT),
            Triple("\"bidirectional\"", "\"sideways\"", Fault.INSTRUMENT),
            Triple("\"form\":\"bidirectional\",", "", Fault.INSTRUMENT),
            Triple("\"bidirectional\"", "\"client\"", Fault.USER),
            Triple("\"bidirectional\"", "\"sse\"", Fault.USER),
            Triple("\"messages\":3", "\"messages\":0", Fault.INSTRUMENT),
            Triple("\"messages\":3", "\"messages\":1000001", Fault.INSTRUMENT),
            Triple(",\"messages\":3", "", Fault.INSTRUMENT),
            Triple("\"messages\":3", "\"messages\":3,\"in_turn\":1", Fault.INSTRUMENT),
            Triple("\"messages\":3", "\"messages\":3,\"pace\":1", Fault.INSTRUMENT),
            Triple("bidirectional\",\"messages\":3", "server\",\"messages\":3,\"in_turn\":true", Fault.INSTRUMENT),
            Triple("\"deadline_ms\"", "\"marks\":true,\"deadline_ms\"", Fault.INSTRUMENT),
            Triple("\"deadline_ms\"", "\"style\":\"future\",\"deadline_ms\"", Fault.USER),
            Triple(",\"message_records\":\"/m\"", "", Fault.INSTRUMENT),
            Triple(",\"stream\":{\"form\":\"bidirectional\",\"messages\":3}", "", Fault.INSTRUMENT),
        )) {
            val line = CLIENT.replaceFirst(from, to)
            assertTrue(line != CLIENT, from)
            assertEquals(fault, assertThrows(Refused::class.java, { chosen(line) }, to).fault, to)
        }
        val unary = Stack("two", listOf("protobuf"), mapOf("grpc" to listOf("2")), listOf("blocking"), call = { _, _ -> error("") })
        assertEquals("the stack two has no streams", assertThrows(Refused::class.java) { chosen(CLIENT, unary) }.message)
    }

    private val requests = Requests(listOf("a", "b"))

    private fun called(form: String, sent: Int, received: Int): Pair<Record, IOException?> {
        val stream = stream(CLIENT.replace("bidirectional", form))
        val record = Record().apply { begin = now() }
        val messages = StreamMessages(stream, requests)
        record.messages = messages
        repeat(sent) { messages.next() }
        repeat(received) { messages.received("c") }
        return try {
            messages.complete(record)
            record to null
        } catch (error: IOException) {
            record.fail()
            record to error
        }
    }

    @Test
    fun `a call fails that has too few or too many messages`() {
        for ((form, sent, received, error) in listOf(
            Case("bidirectional", 3, 3, null),
            Case("bidirectional", 2, 3, "the server ended the call after 2 of 3 requests"),
            Case("bidirectional", 3, 2, "the server sent 2 messages instead of 3"),
            Case("bidirectional", 3, 4, "the server sent 4 messages instead of 3"),
            Case("server", 1, 3, null),
            Case("server", 1, 0, "the server sent 0 messages instead of 3"),
            Case("client", 3, 1, null),
            Case("client", 0, 1, "the server ended the call after 0 of 3 requests"),
        )) assertEquals(error, called(form, sent, received).second?.message)
    }

    private data class Case(val form: String, val sent: Int, val received: Int, val error: String?)

    @Test
    fun `the records of messages are written call by call`() {
        val calls = listOf(called("bidirectional", 3, 3), called("bidirectional", 2, 1), called("client", 3, 1), called("server", 1, 3))
        val records = calls.map { it.first }
        val file = folder.resolve("messages")
        FileChannel.open(file, CREATE, WRITE).use { writeMessages(records, it) }
        val bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN)
        val known = List(bytes.remaining() / MESSAGE_RECORD_BYTES) { (bytes.getLong() != 0L) to (bytes.getLong() != 0L) }
        val (both, sent, received) = Triple(true to true, true to false, false to true)
        assertEquals(listOf(both, both, both, both, sent, both, sent, sent, both, received, received), known)
        assertEquals(listOf(3, 2, 3, 3), records.map { it.operations })

        val (bidirectional, failed, client, server) = records
        assertEquals(bytes.getLong(8), bidirectional.first)
        assertEquals(bytes.getLong(2 * MESSAGE_RECORD_BYTES + 8), bidirectional.received)
        assertEquals(listOf(0L, 0L), listOf(client.first, client.received))
        assertEquals(bytes.getLong(7 * MESSAGE_RECORD_BYTES), client.sent)
        assertTrue(failed.failed)
        assertTrue(server.begin <= server.sent && server.sent <= server.first && server.first <= server.received)
        assertTrue(server.received <= server.end)
    }

    @Test
    fun `many records of messages are written in chunks`() {
        val line = CLIENT.replace("\"messages\":3", "\"messages\":10000")
        val messages = StreamMessages(stream(line), requests)
        repeat(10_000) { messages.next() }
        val record = Record().apply { this.messages = messages; fail() }
        val file = folder.resolve("many")
        FileChannel.open(file, CREATE, WRITE).use { writeMessages(listOf(record, record), it) }
        assertEquals(20_000L * MESSAGE_RECORD_BYTES, Files.size(file))
    }
}
