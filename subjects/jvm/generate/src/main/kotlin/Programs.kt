package rpcgauge.generate

/**
 * A program: a module with its jars, the jars of generated classes that it needs, and the stacks that can run alone in
 * it. Under the module's name, it is started for several stacks, its own or those of other programs.
 */
class Program(val module: String, val main: String, val generated: List<String>, val stacks: List<String>) {
    /** The names under which it can be started. */
    val names: List<String> get() = stacks + module
}

/** The classes that all programs need: messages as protoc's classes and as data classes, and the built-in services. */
const val CLASSES = "classes"
const val GRPC_JAVA = "grpc-java-classes"
const val GRPC_KOTLIN = "grpc-kotlin-classes"
const val SPRING = "spring-classes"
const val ARMERIA = "armeria-classes"

val PROGRAMS = listOf(
    Program(
        "codecs", "rpcgauge.codecs.MainKt", listOf(CLASSES),
        listOf("protobuf", "protojson", "jackson", "jackson2", "hybrid", "msgpack"),
    ),
    Program("grpc-java", "rpcgauge.grpcjava.MainKt", listOf(CLASSES, GRPC_JAVA), listOf("grpc-java")),
    Program("grpc-kotlin", "rpcgauge.grpckotlin.MainKt", listOf(CLASSES, GRPC_JAVA, GRPC_KOTLIN), listOf("grpc-kotlin")),
    Program(
        "armeria", "rpcgauge.armeria.MainKt", listOf(CLASSES, GRPC_JAVA, ARMERIA),
        listOf("armeria-grpc", "armeria-rest", "armeria-transcoding"),
    ),
    Program(
        "spring-boot", "rpcgauge.springboot.MainKt", listOf(CLASSES, GRPC_JAVA, SPRING),
        listOf("spring-boot-grpc", "spring-boot-mvc"),
    ),
    Program(
        "lognet", "rpcgauge.lognet.MainKt", listOf(CLASSES, GRPC_JAVA, SPRING),
        listOf("lognet-grpc", "lognet-grpc-stamped", "lognet-mvc"),
    ),
    Program("devh", "rpcgauge.devh.MainKt", listOf(CLASSES, GRPC_JAVA), listOf("devh-grpc")),
    Program("spring-client", "rpcgauge.springclient.MainKt", listOf(CLASSES), listOf("rest-client", "web-client")),
    Program("jdk-http", "rpcgauge.jdkhttp.MainKt", listOf(CLASSES), listOf("jdk-http")),
    Program("clients", "rpcgauge.clients.MainKt", listOf(CLASSES, GRPC_JAVA, GRPC_KOTLIN), emptyList()),
)

/** Options that only newer JVMs support: they allow Netty's and protobuf's operations without a warning. */
fun jvmOptions(feature: Int): List<String> = buildList {
    if (feature >= 24) {
        add("--enable-native-access=ALL-UNNAMED")
        add("--sun-misc-unsafe-memory-access=allow")
    } else if (feature >= 22) {
        add("--enable-native-access=ALL-UNNAMED")
    }
}

/** The content of an argument file for `java`. */
fun argumentFile(words: List<String>): String =
    words.joinToString("") { "\"${it.replace("\\", "\\\\").replace("\"", "\\\"")}\"\n" }
