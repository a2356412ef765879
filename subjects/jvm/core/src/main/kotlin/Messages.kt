package rpcgauge

import com.google.gson.JsonArray
import com.google.gson.JsonObject
import com.google.protobuf.ExtensionRegistry
import com.google.protobuf.InvalidProtocolBufferException
import com.google.protobuf.Message
import com.google.protobuf.TypeRegistry
import com.google.protobuf.util.JsonFormat
import java.nio.file.Files
import java.nio.file.Path

enum class Sample { REQUEST, RESPONSE }

/** Responds to a request with a message of the same kind of class: protoc's, or a data class. */
typealias Handler = (Any) -> Any

/** Responds to a request with several messages of the same kind of class, numbered from 0. */
fun interface Series {
    fun respond(request: Any, number: Int): Any
}

/** The handlers of the built-in workloads (contract/workloads.md), for n items. They are compiled with their messages. */
interface Services {
    fun proto(workload: String, n: Int): Handler

    fun plain(workload: String, n: Int): Handler

    /** The responses of `items`, the only built-in workload that streams. */
    val protoItems: Series

    val plainItems: Series
}

/** The generator's description of a method; names are class names. */
class Method(from: JsonObject) {
    /** /package.Service/Method. */
    val path: String = from["path"].asString
    private val protos = from["proto"].asJsonArray
    private val plains = from["plain"].asJsonArray
    private val bindings = from["bindings"].asJsonObject

    /** Which sides stream; null if the method is unary. */
    val form: Form? = from["stream"]?.let { Form.valueOf(it.asString.uppercase()) }

    /** The extensions in the files of its messages. */
    val extensions: ExtensionRegistry = ExtensionRegistry.newInstance().also {
        for (file in from["files"].asJsonArray) {
            Class.forName(file.asString).getMethod("registerAllExtensions", ExtensionRegistry::class.java).invoke(null, it)
        }
    }

    fun proto(sample: Sample): Message = made(named(protos, sample).getMethod("getDefaultInstance").invoke(null))

    fun plain(sample: Sample): Class<*> = named(plains, sample)

    /** Returns the generated code that binds this method to a library; refuses if its generator failed. */
    fun <T> binding(library: String): T = made(bindingClass(library).getDeclaredConstructor().newInstance())

    fun bindingClass(library: String): Class<*> {
        val bound = bindings[library] ?: throw instrument("there is no code of $library for $path")
        if (bound.isJsonObject) throw user("$library: ${bound.asJsonObject["error"].asString}")
        return Class.forName(bound.asString)
    }

    private fun named(classes: JsonArray, sample: Sample) = Class.forName(classes[sample.ordinal].asString)

    @Suppress("UNCHECKED_CAST")
    private fun <T> made(value: Any): T = value as T
}

/** The REST resources and methods of the built-in workloads (contract/README.md). */
private val BUILT_IN = mapOf(
    "echo" to ("/several/data" to "/several.SeveralService/GetSeveralData"),
    "hello" to ("/hello" to "/hello.Hello/SayHello"),
    "list" to ("/example/list" to "/ExampleService/ExampleResponse1List"),
    "items" to ("/items" to "/ItemService/GetItem"),
    "records" to ("/records" to "/records.RecordService/GetRecords"),
    "profile" to ("/members/profile" to "/GetMemberProfileService/GetMemberProfileCall"),
    "followers" to ("/members/followers" to "/GetFollowerService/GetFollowerCall"),
)

/** The methods of `items` that stream. */
private val STREAMS_OF_ITEMS = mapOf(
    Form.CLIENT to "/ItemService/PutItems",
    Form.SERVER to "/ItemService/ListItems",
    Form.BIDIRECTIONAL to "/ItemService/ExchangeItems",
)

/** The class with the built-in workloads' handlers, in their set of messages. */
private const val SERVICES = "rpcgauge.builtin.BuiltIn"

/** The workload in the settings, with the generated code of its method. */
class Workload(settings: Settings, folder: Path) {
    private val asked = settings.workload
    private val samples = settings.samples
    val method: Method

    /** The path of the REST resource. */
    val restPath: String

    private val types: TypeRegistry

    init {
        val (rest, unary) = BUILT_IN[asked.name] ?: "/${asked.own?.method}".let { it to it }
        val form = settings.calling?.stream?.form
        val path = if (form == null || asked.own != null) unary else streaming(form)
        val list = folder.resolve("methods.json")
        val methods = parsed(Files.readString(list)).asJsonArray.map { Method(it.asJsonObject) }
        method = methods.find { it.path == path } ?: throw instrument("$list has no method $path")
        if (settings.calling?.protocol == "grpc" && method.form != form) {
            throw user("the method $path has the form \"${kind(method.form)}\", not \"${kind(form)}\"")
        }
        restPath = rest
        val known = TypeRegistry.newBuilder()
        for (each in methods) Sample.values().forEach { known.add(each.proto(it).descriptorForType) }
        types = known.build()
    }

    val printer: JsonFormat.Printer = JsonFormat.printer().usingTypeRegistry(types).omittingInsignificantWhitespace()
    val parser: JsonFormat.Parser = JsonFormat.parser().usingTypeRegistry(types)

    /** Whether the samples are protobuf bytes, which support extensions, unlike protobuf-java's JSON. */
    val inBytes: Boolean = samples.any { it.protobuf != null }

    /** Converts a sample to a message. */
    fun proto(sample: Sample, asked: AskedSample): Message {
        val empty = method.proto(sample)
        try {
            if (asked.protobuf != null) return empty.parserForType.parseFrom(asked.protobuf, method.extensions)
            return empty.newBuilderForType().also { parser.merge(asked.json, it) }.build()
        } catch (error: InvalidProtocolBufferException) {
            val name = empty.descriptorForType.fullName
            val why = if ("\"[" in asked.json) " (protobuf-java's JsonFormat reads no extensions)" else ""
            throw user("the ${sample.name.lowercase()} is not a $name: ${oneLine(error)}$why")
        }
    }

    /** The JSON of a sample for the data classes. A user's own sample already has the form of its encoding. */
    fun plainJson(sample: Sample, asked: AskedSample): String {
        val message = proto(sample, asked)
        return if (this.asked.own == null) printer.print(message) else asked.json
    }

    fun protoHandler(): Handler {
        if (asked.own == null) return services.proto(asked.name, asked.n)
        val response = proto(Sample.RESPONSE, samples.single())
        return { response }
    }

    /** `read` creates an object of a class from JSON. */
    fun plainHandler(read: (String, Class<*>) -> Any): Handler {
        if (asked.own == null) return services.plain(asked.name, asked.n)
        // A server that is called over gRPC may have the REST resource too, but JSON may not support its messages.
        if (inBytes) return { throw InvalidRequest("this server was started for gRPC") }
        val response = read(plainJson(Sample.RESPONSE, samples.single()), method.plain(Sample.RESPONSE))
        return { response }
    }

    /** The responses of a stream. Those of a user's own method are all the same. */
    fun protoSeries(): Series {
        if (asked.own == null) return services.protoItems
        val handler = protoHandler()
        return Series { request, _ -> handler(request) }
    }

    fun plainSeries(read: (String, Class<*>) -> Any): Series {
        if (asked.own == null) return services.plainItems
        val handler = plainHandler(read)
        return Series { request, _ -> handler(request) }
    }

    private fun streaming(form: Form): String {
        if (asked.name != "items") throw user("the workload \"${asked.name}\" has no streams")
        return STREAMS_OF_ITEMS[form] ?: throw user("no method of \"${asked.name}\" has the form \"${form.word}\"")
    }

    /** The same for all forms of a server's calls, which share what it keeps. */
    private val services by lazy { Class.forName(SERVICES).getDeclaredConstructor().newInstance() as Services }
}
