package rpcgauge.generate

import java.io.ByteArrayOutputStream
import java.io.PrintStream
import java.nio.file.Path
import javax.tools.ToolProvider
import org.jetbrains.kotlin.cli.common.ExitCode
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler

private const val RELEASE = "17"

/** Compiles Java source files into a folder. */
fun javac(sources: List<Path>, classpath: List<Path>, into: Path) {
    if (sources.isEmpty()) return
    val compiler = ToolProvider.getSystemJavaCompiler()
        ?: throw CannotGenerate("${System.getProperty("java.home")} has no compiler: install a JDK, not only its runtime")
    val said = ByteArrayOutputStream()
    val words = listOf("-d", "$into", "-proc:none", "-nowarn", "-Xlint:none", "--release", RELEASE, "-cp", joined(classpath))
    val status = compiler.run(null, said, said, *(words + sources.map { "$it" }).toTypedArray())
    if (status != 0) throw CannotGenerate("javac: ${firstError(said)}")
}

/** Compiles Kotlin sources, which may be folders, into a folder. */
fun kotlinc(sources: List<Path>, classpath: List<Path>, into: Path) {
    val said = ByteArrayOutputStream()
    val words = listOf("-d", "$into", "-nowarn", "-no-stdlib", "-no-reflect", "-jvm-target", RELEASE, "-cp", joined(classpath))
    val status = K2JVMCompiler().exec(PrintStream(said), *(words + sources.map { "$it" }).toTypedArray())
    if (status != ExitCode.OK) throw CannotGenerate("kotlinc: ${firstError(said)}")
}

/** Packs a folder of classes into a jar beside it. A JVM cannot write an ahead-of-time cache for classes in folders. */
fun jar(classes: Path) {
    val packer = java.util.spi.ToolProvider.findFirst("jar").orElseThrow { CannotGenerate("the JDK has no jar tool") }
    val said = ByteArrayOutputStream()
    val words = arrayOf("--create", "--no-compress", "--file", "$classes.jar", "-C", "$classes", ".")
    val status = PrintStream(said).let { packer.run(it, it, *words) }
    if (status != 0) throw CannotGenerate("jar: ${firstError(said)}")
}

private fun joined(paths: List<Path>) = paths.joinToString(":")

private fun firstError(said: ByteArrayOutputStream): String {
    System.err.println(said)
    return said.toString().lines().firstOrNull { "error" in it } ?: said.toString().lines().first()
}
