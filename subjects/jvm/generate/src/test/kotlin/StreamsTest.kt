package rpcgauge.generate

import com.google.gson.JsonArray
import com.google.gson.JsonObject
import com.google.gson.JsonParser
import com.google.protobuf.DescriptorProtos.FileDescriptorSet
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.listDirectoryEntries
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

private const val RECORD_BYTES = 80
private const val MESSAGE_RECORD_BYTES = 16
private const val MESSAGES = 5

class StreamsTest {
    @TempDir lateinit var folder: Path

    /** The clients of each style call servers in each form, in one process each. */
    @Test
    fun `streams of the built-in set are called`() {
        builtIn()
        Generator(Path.of("..").toAbsolutePath().normalize(), folder).run()
        val forms = listOf("server", "client", "bidirectional")
        for (stack in listOf("grpc-java", "grpc-kotlin")) {
            program(stack) { server ->
                val endpoints = server.ask(settings("servers", forms.map { part(stack, it) + LISTEN }))
                assertTrue("\"ready\":true" in endpoints, endpoints)
                val addresses = Regex("\"address\":\"([^\"]+)\"").findAll(endpoints).map { it.groupValues[1] }.toList()
                program("clients") { client -> call(client, forms.zip(addresses)) }
            }
        }
    }

    private fun call(client: Asked, servers: List<Pair<String, String>>) {
        val styles = listOf("grpc-java" to "blocking", "grpc-java" to "async", "grpc-kotlin" to "coroutine")
        val calls = servers.flatMap { (form, address) -> styles.map { Call(form, false, address, it.first, it.second) } } +
            styles.map { Call("bidirectional", true, servers.last().second, it.first, it.second) }
        val ready = client.ask(settings("clients", calls.mapIndexed { number, call -> call.settings(number) }))
        assertTrue("\"ready\":true" in ready, ready)
        calls.forEachIndexed { number, call ->
            val verified = client.ask("""{"part":$number,"verify":true}""")
            assertEquals(if (call.form == "client") 1 else MESSAGES, verified.split("\"protobuf\":").size - 1, "$call: $verified")
            val slice = client.ask("""{"part":$number,"slice":{"skip":1,"calls":3}}""")
            assertTrue("\"records\":3" in slice && "error" !in slice, "$call: $slice")
            assertEquals(3L * RECORD_BYTES, Files.size(folder.resolve("calls$number")))
            assertEquals(3L * MESSAGES * MESSAGE_RECORD_BYTES, Files.size(folder.resolve("messages$number")))
        }
    }

    private inner class Call(val form: String, val inTurn: Boolean, val address: String, val stack: String, val style: String) {
        fun settings(number: Int): String {
            val stream = if (inTurn) part(stack, form).replace("$MESSAGES}", "$MESSAGES,\"in_turn\":true}") else part(stack, form)
            return """$stream,"style":"$style","address":"$address","requests":[{"id":7},{"id":8}],"in_flight":2,""" +
                """"deadline_ms":20000,"records":"${folder.resolve("calls$number")}",""" +
                """"message_records":"${folder.resolve("messages$number")}""""
        }

        override fun toString() = "$stack, $style, $form${if (inTurn) " in turn" else ""}"
    }

    private fun settings(role: String, parts: List<String>) =
        """{"contract":2,"role":"$role","parts":[${parts.joinToString(",") { "{$it}" }}]}"""

    private fun part(stack: String, form: String) =
        """"stack":"$stack","workload":{"name":"items"},"protocol":"grpc","http":"2","encoding":"protobuf",""" +
            """"stream":{"form":"$form","messages":$MESSAGES}"""

    /** Writes the set of the built-in workloads, with protoc's descriptors. */
    private fun builtIn() {
        val protos = Path.of("../../../contract/proto")
        val files = protos.listDirectoryEntries("*.proto").map { "${it.fileName}" }.sorted()
        val descriptors = folder.resolve("descriptors.binpb")
        val protoc = Path.of("../generate/target/tools/protoc").toFile().apply { setExecutable(true) }
        val command = listOf("$protoc", "-I$protos", "--include_imports", "--descriptor_set_out=$descriptors") + files
        assertEquals(0, ProcessBuilder(command).inheritIO().start().waitFor())
        val methods = FileDescriptorSet.parseFrom(Files.readAllBytes(descriptors)).fileList.flatMap { file ->
            val prefix = if (file.`package`.isEmpty()) "" else "${file.`package`}."
            file.serviceList.flatMap { service -> service.methodList.map { "/$prefix${service.name}/${it.name}" } }
        }
        val list = JsonObject().apply {
            add("generate", JsonArray().apply { files.forEach(::add) })
            add("methods", JsonArray().apply { methods.forEach { add(JsonParser.parseString("""{"path":"$it"}""")) } })
        }
        Files.writeString(folder.resolve("files.json"), "$list")
    }

    private class Asked(private val process: Process) {
        private val input = process.outputWriter()
        private val output = process.inputReader()

        fun ask(line: String): String {
            input.write("$line\n")
            input.flush()
            return output.readLine() ?: "no reply"
        }
    }

    private fun program(name: String, use: (Asked) -> Unit) {
        val java = Path.of(System.getProperty("java.home"), "bin", "java")
        val process = ProcessBuilder("$java", "-XX:TieredStopAtLevel=1", "@${folder.resolve("$name.args")}")
            .redirectError(ProcessBuilder.Redirect.INHERIT).start()
        try {
            use(Asked(process))
        } finally {
            process.destroyForcibly()
        }
    }

    private companion object {
        const val LISTEN = ""","listen":{"transport":"tcp"}"""
    }
}
