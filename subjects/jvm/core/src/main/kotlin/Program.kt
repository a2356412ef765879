package rpcgauge

import java.io.File
import java.io.PrintStream
import java.lang.management.ManagementFactory
import java.nio.file.Path
import java.util.Properties
import kotlin.concurrent.thread
import kotlin.system.exitProcess

private const val VERSION = "1.0"

/** Plays the parts in the settings, each with one of the stacks and the messages in the folder given by `args`. */
fun main(args: Array<String>, vararg stacks: Stack) {
    val lab = Conversation(System.`in`, System.out)
    // The output of libraries belongs in the log.
    System.setOut(PrintStream(System.err, true))
    try {
        play(lab, Path.of(args.single()), stacks.asList())
    } catch (error: Exception) {
        val fault = (error as? Refused)?.fault ?: Fault.SUBJECT
        // An unexpected exception is reported with its stack trace.
        if (error is Refused) System.err.println(error.message) else error.printStackTrace()
        lab.tellRefused(error, fault)
        exitProcess(fault.exitCode)
    }
    // Threads of libraries may still be running.
    exitProcess(0)
}

private fun play(lab: Conversation, messages: Path, stacks: List<Stack>) {
    val line = lab.hear() ?: throw instrument("there is no settings line")
    val asked = parseSettings(line)
    val chosen = asked.map { Stack.choose(stacks, it) }
    val parts = ArrayList<AutoCloseable>()
    try {
        asked.zip(chosen).mapTo(parts) { (settings, stack) -> stack.start(settings, Workload(settings, messages)) }
        lab.tellReady(parts.map { (it as? Server)?.address }, versions())
        // All parts have the same role.
        when (asked.first()) {
            is ServerSettings -> lab.hearTheEnd()
            else -> answer(lab, parts.filterIsInstance<Measured>(), inBatches = asked.first() is CodecSettings)
        }
    } finally {
        // In parallel, because some libraries take 2 seconds, and there are 5 seconds for all of them.
        parts.map { thread { it.close() } }.forEach(Thread::join)
    }
}

/** The JVM, its collector and heap, and the libraries of the program; each module lists its own libraries. */
private fun versions(): Map<String, String> {
    val libraries = Properties()
    for (file in Stack::class.java.classLoader.getResources("versions.properties")) file.openStream().use(libraries::load)
    val collectors = ManagementFactory.getGarbageCollectorMXBeans().map { it.name }
    return sortedMapOf(
        "java" to "${Runtime.version()}".substringBefore('+'),
        "jvm" to "${System.getProperty("java.vm.name")} (${System.getProperty("java.vendor")})",
        "gc" to collectors.joinToString(", "),
        "heap" to "${Runtime.getRuntime().maxMemory() shr 20} MiB",
        "kotlin" to KotlinVersion.CURRENT.toString(),
        "rpcgauge-jvm" to VERSION,
    ) + libraries.map { "${it.key}" to "${it.value}" }
}

/** Removes a socket's file, which some libraries leave behind. */
fun removeSocket(listen: Listen) {
    listen.path?.let { File(it).delete() }
}
