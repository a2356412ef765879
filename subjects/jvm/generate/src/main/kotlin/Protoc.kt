package rpcgauge.generate

import java.nio.file.Files
import java.nio.file.Path

/** Runs the programs that the build downloaded on a set of messages. */
class Protoc(private val tools: Path, private val work: Path, private val set: MessageSet) {
    private val descriptors = work.resolve("descriptors.binpb")

    init {
        Files.write(descriptors, set.descriptors.toByteArray())
    }

    /** Generates the messages and the stubs for Java. */
    fun java(messages: Path, stubs: Path) {
        val plugin = executable(tools.resolve("protoc-gen-grpc-java"))
        run("--java_out=${made(messages)}", "--plugin=protoc-gen-grpc-java=$plugin", "--grpc-java_out=${made(stubs)}")
    }

    /** Generates the stubs for Kotlin. The plugin is a jar, but protoc can start only programs. */
    fun kotlin(stubs: Path) {
        val script = work.resolve("protoc-gen-grpckt")
        val java = Path.of(System.getProperty("java.home"), "bin", "java")
        val jar = tools.resolve("protoc-gen-grpc-kotlin.jar")
        Files.writeString(script, "#!/bin/sh\nexec ${shell(java)} -XX:TieredStopAtLevel=1 -jar ${shell(jar)}\n")
        run("--plugin=protoc-gen-grpckt=${executable(script)}", "--grpckt_out=${made(stubs)}")
    }

    /** Quotes a path as one word for a shell. */
    private fun shell(path: Path) = "'${"$path".replace("'", "'\\''")}'"

    private fun run(vararg words: String) {
        val protoc = executable(tools.resolve("protoc"))
        val command = listOf("$protoc", "--descriptor_set_in=$descriptors") + words + set.generate
        val process = ProcessBuilder(command).redirectErrorStream(true).start()
        val said = process.inputStream.bufferedReader().readText().trim()
        if (said.isNotEmpty()) System.err.println(said)
        if (process.waitFor() != 0) throw CannotGenerate("protoc: ${said.lines().last()}")
    }

    private fun made(folder: Path): Path = Files.createDirectories(folder)

    private fun executable(program: Path): Path {
        program.toFile().setExecutable(true)
        return program
    }
}
