package rpcgauge.generate

import java.nio.file.Path
import kotlin.system.exitProcess

/**
 * Generates the code for a set of messages, in the same way for the built-in workloads and for a user's own messages:
 * protoc's Java code, the stubs of the gRPC plugins, the data classes for Jackson, and the code that binds them to the
 * stacks.
 */
fun main(args: Array<String>) {
    if (args.size != 1) {
        System.err.println("usage: generate FOLDER, which has descriptors.binpb and files.json")
        exitProcess(2)
    }
    try {
        Generator(Path.of("").toAbsolutePath(), Path.of(args[0]).toAbsolutePath()).run()
    } catch (error: CannotGenerate) {
        System.err.println(error.message)
        exitProcess(1)
    }
    // The compilers' threads may still be running.
    exitProcess(0)
}

/** Why there is no code, with the text of the generator that refused. */
class CannotGenerate(message: String) : Exception(message)
