package rpcgauge.generate

import com.google.gson.JsonArray
import com.google.gson.JsonObject
import com.google.protobuf.Descriptors.Descriptor
import com.google.protobuf.Descriptors.MethodDescriptor
import java.nio.file.Files
import java.nio.file.Path
import kotlin.io.path.extension
import kotlin.io.path.isDirectory
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name

/** Turns a folder with descriptors into a folder that programs can run from. `root` is the built subject's folder. */
class Generator(private val root: Path, private val folder: Path) {
    private val set = MessageSet.read(folder)
    private val sources = folder.resolve("sources")
    private val classes = folder.resolve(CLASSES)
    private val grpcJava = folder.resolve(GRPC_JAVA)
    private val grpcKotlin = folder.resolve(GRPC_KOTLIN)
    private val spring = folder.resolve(SPRING)
    private val armeria = folder.resolve(ARMERIA)
    private val data = DataClasses()

    fun run() {
        listOf(sources, classes, grpcJava, grpcKotlin, spring, armeria).forEach { Files.createDirectories(it) }
        val protoc = Protoc(root.resolve("generate/target/tools"), sources, set)
        val (java, stubs, coroutines) = listOf("java", "stubs", "coroutines").map(sources::resolve)
        protoc.java(java, stubs)
        val protobuf = jars("codecs")
        javac(java.files("java"), protobuf, classes)
        plain(protobuf)

        val grpc = jars("grpc-java").plusElement(classes)
        val bindings = bound("java", ::grpcJava)
        javac(stubs.files("java") + bindings.map { it.second }, grpc, grpcJava)
        val kotlin = try {
            protoc.kotlin(coroutines)
            val bound = bound("kt", ::grpcKotlin)
            kotlinc(coroutines.files("kt") + bound.map { it.second }, jars("grpc-kotlin") + listOf(classes, grpcJava), grpcKotlin)
            bound.map { text(it.first) }
        } catch (error: CannotGenerate) {
            // Its plugin supports fewer editions than protoc; the other stacks still get their code.
            set.methods.map { JsonObject().apply { addProperty("error", error.message) } }
        }
        val mvc = rest(::springMvc, "spring-boot", spring)
        val annotated = rest(::armeriaRest, "armeria", armeria)
        val ties = set.methods.indices.map {
            mapOf(
                "grpc-java" to text(bindings[it].first), "grpc-kotlin" to kotlin[it], "spring-mvc" to text(mvc[it]),
                "armeria-rest" to text(annotated[it]),
            )
        }
        val methods = JsonArray()
        set.methods.zip(ties) { method, tie -> methods.add(described(method, tie)) }
        Files.writeString(folder.resolve("methods.json"), "$methods")
        listOf(classes, grpcJava, grpcKotlin, spring, armeria).forEach(::jar)
        PROGRAMS.forEach(::write)
    }

    /** Writes the code that binds the stubs of each method. */
    private fun bound(extension: String, bind: (MethodDescriptor, Int) -> Binding): List<Pair<Binding, Path>> =
        set.methods.mapIndexed { number, method -> written(bind(method, number), extension) }

    /** Generates the resource of each method with the classes of a module. */
    private fun rest(bind: (Int, String, String) -> Binding, module: String, into: Path): List<Binding> {
        val made = set.methods.mapIndexed { number, method ->
            written(bind(number, plainName(method.inputType), plainName(method.outputType)), "java")
        }
        javac(made.map { it.second }, jars(module).plusElement(classes), into)
        return made.map { it.first }
    }

    /** Generates the data classes, and for the built-in workloads also their services. */
    private fun plain(classpath: List<Path>) {
        set.methods.forEach { listOf(it.inputType, it.outputType).forEach(data::root) }
        val file = sources.resolve("Plain.kt")
        Files.writeString(file, data.source())
        val services = if (set.isBuiltIn) listOf(root.resolve("builtin")) else emptyList()
        kotlinc(services.plusElement(file), classpath.plusElement(classes), classes)
    }

    private fun described(method: MethodDescriptor, ties: Map<String, com.google.gson.JsonElement>) = JsonObject().apply {
        val types = listOf(method.inputType, method.outputType)
        addProperty("path", "/${method.service.fullName}/${method.name}")
        form(method)?.let { addProperty("stream", it) }
        add("files", JsonArray().apply { set.packages.values.forEach { add(outerClass(it)) } })
        add("proto", JsonArray().apply { types.forEach { add(javaName(it, "$")) } })
        add("plain", JsonArray().apply { types.forEach { add(plainName(it)) } })
        add("bindings", JsonObject().apply { ties.forEach(::add) })
    }

    private fun plainName(message: Descriptor) = data.root(message)

    private fun written(binding: Binding, extension: String): Pair<Binding, Path> {
        val file = sources.resolve("${binding.file}.$extension")
        Files.writeString(file, binding.source)
        return binding to file
    }

    private fun text(binding: Binding) = com.google.gson.JsonPrimitive(binding.className)

    private fun write(program: Program) {
        val classpath = jars(program.module) + program.generated.map { folder.resolve("$it.jar") }
        val words = jvmOptions(Runtime.version().feature()) +
            listOf("-cp", classpath.joinToString(":"), program.main, "$folder")
        for (name in program.names) Files.writeString(folder.resolve("$name.args"), argumentFile(words))
    }

    /** The jars of a module and its dependencies. */
    private fun jars(module: String): List<Path> {
        val target = root.resolve(module).resolve("target")
        return listOf(target.resolve("$module.jar")) + target.resolve("lib").files("jar")
    }
}

/** The files in a folder and its subfolders, in the same order on every machine. */
private fun Path.files(extension: String): List<Path> = listDirectoryEntries().sortedBy { it.name }.flatMap {
    if (it.isDirectory()) it.files(extension) else listOf(it).filter { file -> file.extension == extension }
}
