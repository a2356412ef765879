package rpcgauge.generate

import java.nio.file.Path
import kotlin.system.exitProcess

/**
 * Makes the code of a set of messages, one way for the built-in workloads and a user's own message: protoc's
 * Java, the stubs of the gRPC plugins, the data classes for Jackson, and what ties them to the stacks.
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
    // The compilers' threads may still run.
    exitProcess(0)
}

/** Why there is no code, in the words of the generator that refused. */
class CannotGenerate(message: String) : Exception(message)
