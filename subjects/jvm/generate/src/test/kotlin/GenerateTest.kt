package rpcgauge.generate

import com.google.gson.JsonParser
import com.google.protobuf.AnyProto
import com.google.protobuf.DescriptorProtos.FileDescriptorProto
import com.google.protobuf.DescriptorProtos.FileDescriptorSet
import com.google.protobuf.DescriptorProtos.FileOptions
import com.google.protobuf.Descriptors.FileDescriptor
import com.google.protobuf.DurationProto
import com.google.protobuf.EmptyProto
import com.google.protobuf.ExtensionRegistry
import com.google.protobuf.FieldMaskProto
import com.google.protobuf.StructProto
import com.google.protobuf.TextFormat
import com.google.protobuf.TimestampProto
import com.google.protobuf.WrappersProto
import java.net.URLClassLoader
import java.nio.file.Files
import java.nio.file.Path
import java.util.Random
import kotlin.io.path.extension
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.relativeTo
import kotlin.streams.toList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

/** `old { name: "q" [a.b.added]: "x" }` in base64. */
private const val OLD_WITH_EXTENSION = "ugIHCgFxogYBeA=="

class GenerateTest {
    @TempDir lateinit var folder: Path

    /** Every kind of field, names that are Java or Kotlin keywords or types, files without a package, and proto2. */
    @Test
    fun `odd messages are compiled, and every class of theirs is sound`() {
        val odd = FileDescriptorSet.newBuilder()
        // protoc itself cannot generate Java for a message with this name.
        val text = Files.readString(Path.of("../../go/cmd/generate/testdata/odd.txtpb")).replace("interface", "default_")
        TextFormat.merge(text, odd)
        val known = listOf(
            AnyProto.getDescriptor(), DurationProto.getDescriptor(), EmptyProto.getDescriptor(),
            FieldMaskProto.getDescriptor(), StructProto.getDescriptor(), TimestampProto.getDescriptor(),
            WrappersProto.getDescriptor(),
        ).map(FileDescriptor::toProto)
        val generate = odd.fileList.map(FileDescriptorProto::getName)
        val path = odd.fileList.flatMap { file ->
            file.serviceList.map { "/${if (file.`package`.isEmpty()) "" else "${file.`package`}."}${it.name}/${it.methodList[0].name}" }
        }.first()
        val whole = FileDescriptorSet.newBuilder().addAllFile(known).addAllFile(odd.fileList).build()
        Files.write(folder.resolve("descriptors.binpb"), whole.toByteArray())
        val names = generate.joinToString(",") { "\"$it\"" }
        Files.writeString(folder.resolve("files.json"), """{"generate":[$names],"methods":[{"path":"$path"}]}""")
        Generator(Path.of("..").toAbsolutePath().normalize(), folder).run()

        val method = JsonParser.parseString(Files.readString(folder.resolve("methods.json"))).asJsonArray.single().asJsonObject
        assertEquals(path, method["path"].asString)
        val jars = listOf("grpc-kotlin", "codecs").map { Path.of("..", it, "target") }.flatMap { target ->
            Files.walk(target).use { all -> all.filter { it.extension == "jar" }.toList() }
        }
        val made = listOf(CLASSES, GRPC_JAVA, GRPC_KOTLIN).map(folder::resolve)
        URLClassLoader((made + jars).map { it.toUri().toURL() }.toTypedArray(), ClassLoader.getPlatformClassLoader()).use { loader ->
            for (each in made) {
                val classes = Files.walk(each).use { all -> all.filter { it.extension == "class" }.toList() }
                assertTrue(classes.isNotEmpty(), "$each")
                for (file in classes) {
                    val name = "${file.relativeTo(each)}".removeSuffix(".class").replace('/', '.')
                    Class.forName(name, true, loader)
                }
            }
            val bindings = method["bindings"].asJsonObject
            for (library in listOf("grpc-java", "grpc-kotlin")) {
                loader.loadClass(bindings[library].asString).getDeclaredConstructor().newInstance()
            }
            val registry = loader.loadClass(ExtensionRegistry::class.java.name)
            val extensions = registry.getMethod("newInstance").invoke(null)
            for (file in method["files"].asJsonArray) {
                loader.loadClass(file.asString).getMethod("registerAllExtensions", registry).invoke(null, extensions)
            }
            val found = registry.getMethod("findImmutableExtensionByName", String::class.java).invoke(extensions, "a.b.added")
            assertNotNull(found)
        }
        // JsonFormat cannot read it, and the data classes cannot represent it.
        val sample = """{"old":{"name":"q","[a.b.added]":"x"}}"""
        val own = """"workload":{"name":"own","descriptor_set":"","method":"${path.drop(1)}","request":{},"response":$sample},""" +
            """"encoding":"protobuf","protobuf_samples":["$OLD_WITH_EXTENSION"]"""
        val codec = """{"contract":1,"role":"codec",$own,"sample":"response","message":$sample,"operation":"decode",""" +
            """"records":"${folder.resolve("records")}"}"""
        val decoded = said("protobuf", codec, """{"verify":true}""")
        assertEquals("""{"verified":{"protobuf":"$OLD_WITH_EXTENSION"}}""", decoded.last(), "$decoded")
        val server = """{"contract":1,"role":"server",$own,"protocol":"grpc","http":"2","listen":{"transport":"tcp"}}"""
        val up = said("armeria-grpc", server)
        assertTrue("\"ready\":true" in up.single(), "$up")
        val json = own.replace(Regex(",\"encoding.*"), "").replace(""","[a.b.added]":"x"""", "")
        val grpc = """{"stack":"lognet-grpc",$own,"protocol":"grpc","http":"2","listen":{"transport":"tcp"}}"""
        val rest = """{"stack":"lognet-mvc",$json,"encoding":"json","protocol":"rest","http":"1.1","listen":{"transport":"tcp"}}"""
        val both = said("lognet", """{"contract":1,"role":"servers","parts":[$grpc,$rest,$grpc]}""").single()
        assertEquals(3, Regex("\"address\":\"127.0.0.1:[0-9]+\"").findAll(both).map { it.value }.toSet().size, both)
    }

    /** A client is the same in a program that it shares with others, except for parts that calls do not use. */
    @Test
    fun `the program of several clients has the libraries of each`() {
        fun libraries(module: String) = Path.of("..", module, "target", "lib").listDirectoryEntries("*.jar").map { it.name }
        val apart = listOf("grpc-java", "grpc-kotlin", "jdk-http", "spring-client").flatMap(::libraries) - libraries("clients").toSet()
        val needless = listOf("annotations-", "error_prone_annotations-", "gson-", "javax.annotation-api-", "jspecify-")
        assertEquals(emptyList<String>(), apart.filterNot { jar -> needless.any(jar::startsWith) })
    }

    /** Returns a stack's replies to lines. */
    private fun said(stack: String, vararg lines: String): List<String> {
        val java = Path.of(System.getProperty("java.home"), "bin", "java")
        val program = ProcessBuilder("$java", "@${folder.resolve("$stack.args")}")
            .redirectError(ProcessBuilder.Redirect.INHERIT).start()
        program.outputWriter().use { it.write(lines.joinToString("") { line -> "$line\n" }) }
        return program.inputReader().readLines()
    }

    /** Each class can be found by its name, and Jackson can read its JSON. */
    @Test
    fun `a method's message that is not an object of fields is a class of Java`() {
        val data = DataClasses()
        val expected = mapOf(
            "Struct" to Map::class, "ListValue" to List::class, "Value" to Any::class, "Timestamp" to java.time.Instant::class,
            "Duration" to String::class, "Int32Value" to Int::class, "UInt64Value" to java.math.BigInteger::class,
            "DoubleValue" to Double::class, "BoolValue" to Boolean::class,
        )
        val files = listOf(StructProto.getDescriptor(), TimestampProto.getDescriptor(), DurationProto.getDescriptor(), WrappersProto.getDescriptor())
        val messages = files.flatMap { it.messageTypes }.associateBy { it.name }
        for ((name, type) in expected) {
            assertEquals(type.javaObjectType, Class.forName(data.root(messages.getValue(name))), name)
        }
    }

    @Test
    fun `names never clash, whatever they are`() {
        val random = Random(18)
        val letters = "aAbB_09\$-é@`\"classClassnamevalues"
        repeat(200) {
            val taken = HashSet<String>()
            val names = List(20) {
                String(CharArray(random.nextInt(6)) { letters[random.nextInt(letters.length)] })
            }
            val made = names.map { unclashing(it, taken) }
            assertEquals(made.size, made.map { it.lowercase() }.toSet().size, "$names gave $made")
            assertTrue(made.all { Regex("[\\p{L}\\p{Nd}_]+").matches(it) && it.lowercase() != "class" }, "$made")
        }
    }

    @Test
    fun `a method is called as its plugin calls it`() {
        val names = listOf("SayHello" to "sayHello", "get_thing" to "getThing", "GETThing" to "gETThing", "Import" to "import_", "go" to "go")
        for ((name, expected) in names) assertEquals(expected, javaMethod(name))
    }

    @Test
    fun `text is a string of Kotlin's`() {
        assertEquals("\"a-b\"", text("a-b"))
        assertEquals("\"\\u0022\\u005c\\u0024\\u000a\"", text("\"\\$\n"))
    }

    @Test
    fun `files of one name have packages of their own`() {
        val files = listOf("a/b.proto", "ab.proto", "1.proto", "ü.proto")
        val set = FileDescriptorSet.newBuilder().addAllFile(
            files.map { FileDescriptorProto.newBuilder().setName(it).build() },
        ).build()
        val packages = MessageSet.of(set, files, emptyList()).packages
        assertEquals(listOf("abpb", "abpb2", "p1pb", "pb").map { "$PACKAGE.$it" }, files.map(packages::getValue))
    }

    @Test
    fun `no name of a file is an argument, and no option is source code`() {
        for (name in listOf("--plugin=protoc-gen-x=x", "@arguments")) {
            assertThrows(CannotGenerate::class.java, { one(name, listOf(name)) }, name)
        }
        for (change in listOf<(FileOptions.Builder) -> Unit>(
            { it.javaPackage = "a; class X" }, { it.javaOuterClassname = "X {}" }, { it.javaPackage = "a\nb" },
        )) {
            assertThrows(CannotGenerate::class.java) { one("google/protobuf/any.proto", emptyList(), change) }
        }
        one("google/protobuf/any.proto", emptyList()) { it.javaPackage = "com.google.protobuf" }
    }

    private fun one(name: String, generate: List<String>, change: (FileOptions.Builder) -> Unit = {}): MessageSet {
        val file = FileDescriptorProto.newBuilder().setName(name)
        change(file.optionsBuilder)
        return MessageSet.of(FileDescriptorSet.newBuilder().addFile(file).build(), generate, emptyList())
    }
}
