package rpcgauge.generate

import com.google.gson.JsonParser
import com.google.protobuf.DescriptorProtos.Edition
import com.google.protobuf.DescriptorProtos.FileDescriptorProto
import com.google.protobuf.DescriptorProtos.FileDescriptorSet
import com.google.protobuf.Descriptors.Descriptor
import com.google.protobuf.Descriptors.FileDescriptor
import com.google.protobuf.Descriptors.MethodDescriptor
import java.nio.file.Files
import java.nio.file.Path

const val PACKAGE = "rpcgauge.messages"

/** The name of the outer class of a file, which contains no messages. No user's message has this name. */
private const val OUTER_CLASS = "RpcgaugeFile"

/** Matches the name of a package or a class, or an empty string. */
private val NAME = Regex("[A-Za-z0-9_.]*")

/**
 * A set of messages. Each file that needs code gets its own Java package, regardless of its options: a user's file may
 * have no package, or that of a library.
 */
class MessageSet private constructor(descriptors: FileDescriptorSet, val generate: List<String>, paths: List<String>) {
    val packages: Map<String, String> = packages(generate)
    val descriptors: FileDescriptorSet = FileDescriptorSet.newBuilder()
        .addAllFile(descriptors.fileList.map(::placed)).build()
    private val files: Map<String, FileDescriptor> = linked(this.descriptors)
    val methods: List<MethodDescriptor> = paths.map(::method)

    /** A user's own set has only one method. */
    val isBuiltIn: Boolean get() = methods.size > 1

    private fun placed(file: FileDescriptorProto): FileDescriptorProto {
        val name = packages[file.name] ?: return named(file)
        val options = file.options.toBuilder().setJavaPackage(name).setJavaOuterClassname(OUTER_CLASS)
        // From edition 2024 on, this is always the case, and the option no longer exists.
        if (file.edition < Edition.EDITION_2024) options.setJavaMultipleFiles(true)
        return file.toBuilder().setOptions(options).build()
    }

    /** A library's file, whose options are written to source code unchanged. */
    private fun named(file: FileDescriptorProto): FileDescriptorProto {
        val names = listOf(file.options.javaPackage, file.options.javaOuterClassname)
        names.find { !NAME.matches(it) }?.let { throw CannotGenerate("${file.name}: \"$it\" is not a name in Java") }
        return file
    }

    private fun method(path: String): MethodDescriptor {
        val (service, method) = path.removePrefix("/").split('/', limit = 2).let { it[0] to it.last() }
        val found = files.values.flatMap { it.services }.find { it.fullName == service }?.findMethodByName(method)
        return found ?: throw CannotGenerate("the descriptors have no method $path")
    }

    companion object {
        fun read(folder: Path): MessageSet {
            val list = JsonParser.parseString(Files.readString(folder.resolve("files.json"))).asJsonObject
            return of(
                FileDescriptorSet.parseFrom(Files.readAllBytes(folder.resolve("descriptors.binpb"))),
                list["generate"].asJsonArray.map { it.asString },
                list["methods"].asJsonArray.map { it.asJsonObject["path"].asString },
            )
        }

        fun of(descriptors: FileDescriptorSet, generate: List<String>, paths: List<String>) =
            MessageSet(descriptors, generate, paths)

        private fun packages(files: List<String>): Map<String, String> {
            val taken = HashSet<String>()
            return files.associateWith { file ->
                // protoc treats the former as an option and the latter as an argument file.
                if (file.startsWith('-') || file.startsWith('@')) throw CannotGenerate("\"$file\" is not a file name")
                val letters = file.removeSuffix(".proto").lowercase().filter { it in 'a'..'z' || it in '0'..'9' }
                val name = if (letters.firstOrNull()?.isDigit() == true) "p$letters" else letters
                "$PACKAGE.${unique("${name}pb", taken)}"
            }
        }

        private fun linked(set: FileDescriptorSet): Map<String, FileDescriptor> {
            val linked = LinkedHashMap<String, FileDescriptor>()
            for (file in set.fileList) {
                val imports = file.dependencyList.map { linked.getValue(it) }.toTypedArray()
                linked[file.name] = FileDescriptor.buildFrom(file, imports)
            }
            return linked
        }
    }
}

/** Returns the name, with the lowest number appended that makes it unique, if needed. */
fun unique(name: String, taken: MutableSet<String>): String {
    val names = generateSequence(2) { it + 1 }.map { "$name$it" }
    return (sequenceOf(name) + names).first(taken::add)
}

/** The class with the extensions of the file that has the given package. */
fun outerClass(javaPackage: String): String = "$javaPackage.$OUTER_CLASS"

/** The name of a message's class, as written in source code or as used by the JVM. */
fun javaName(message: Descriptor, nested: String = "."): String {
    val outer = message.containingType ?: return "${message.file.options.javaPackage}.${message.name}"
    return "${javaName(outer, nested)}$nested${message.name}"
}
