package rpcgauge.generate

import com.google.protobuf.Descriptors.Descriptor
import com.google.protobuf.Descriptors.EnumDescriptor
import com.google.protobuf.Descriptors.FieldDescriptor
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType
import com.google.protobuf.Descriptors.FieldDescriptor.Type

const val PLAIN = "$PACKAGE.plain"

/** The JVM limits a constructor to 255 argument slots, some of which Kotlin needs for defaults. */
private const val MAX_PARAMETERS = 100

/** Packages that generated expressions begin with, and `class`, which every object has. */
private val RESERVED = setOf("kotlin", "java", "class")

/** Members of every enum. */
private val RESERVED_VALUES = setOf("name", "ordinal", "entries", "values", "valueof", "class", "declaringclass")

/**
 * The classes that a user of Jackson would write for messages. A field with presence is null if it is not set; other
 * fields have their defaults. 64-bit unsigned integers are BigInteger, which Jackson supports.
 */
class DataClasses {
    private val names = HashMap<String, String>()
    private val taken = HashSet<String>()
    private val messages = ArrayDeque<Descriptor>()
    private val enums = ArrayDeque<EnumDescriptor>()

    /** Returns the full name of a message's class, and schedules the class to be written. */
    fun message(message: Descriptor): String = named(message.fullName, flat(message.containingType, message.name)) {
        messages.add(message)
    }

    /** The Java name of a method's message class: a Java type if the JSON form is not an object with the fields. */
    fun root(message: Descriptor): String = when (val known = known(message)) {
        null -> message(message).replace("`", "")
        "kotlin.Any?" -> "java.lang.Object"
        "kotlin.Int" -> "java.lang.Integer"
        else -> known.substringBefore('<')
            .replace("kotlin.collections.", "java.util.")
            .replace("kotlin.", "java.lang.")
    }

    private fun enum(enum: EnumDescriptor): String = named(enum.fullName, flat(enum.containingType, enum.name)) {
        enums.add(enum)
    }

    private fun flat(outer: Descriptor?, name: String): String =
        if (outer == null) name else flat(outer.containingType, outer.name) + name

    private fun named(full: String, name: String, write: () -> Unit): String {
        // The names of class files must differ in more than case.
        val known = names.getOrPut(full) {
            write()
            unclashing(name, taken)
        }
        return "$PLAIN.${quoted(known)}"
    }

    /** Generates all classes that the roots need. */
    fun source(): String {
        val classes = StringBuilder()
        while (messages.isNotEmpty()) classes.append(write(messages.removeFirst()))
        while (enums.isNotEmpty()) classes.append(write(enums.removeFirst()))
        return """
            |// Generated: the classes for Jackson.
            |package $PLAIN
            |
            |import com.fasterxml.jackson.annotation.JsonAlias
            |import com.fasterxml.jackson.annotation.JsonProperty
            |import com.fasterxml.jackson.annotation.JsonPropertyOrder
            |
            |
        """.trimMargin() + classes
    }

    private fun write(message: Descriptor): String {
        val name = message(message).removePrefix("$PLAIN.")
        val properties = HashSet<String>()
        val jsonNames = message.fields.map { it.jsonName }.toSet()
        val isData = message.fields.size in 1..MAX_PARAMETERS
        val fields = message.fields.map { field ->
            val target = if (isData) "param" else "set"
            val alias = if (field.name in jsonNames) "" else "@$target:JsonAlias(${text(field.name)}) "
            val json = "@$target:JsonProperty(${text(field.jsonName)}) @get:JsonProperty(${text(field.jsonName)}) $alias"
            val (type, default) = type(field)
            val keyword = if (isData) "val" else "var"
            "    $json$keyword ${quoted(unclashing(field.jsonName, properties))}: $type = $default"
        }
        return when {
            isData -> "data class $name(\n${fields.joinToString("") { "$it,\n" }})\n\n"
            // The annotation makes Jackson serialize a class without properties.
            else -> "@JsonPropertyOrder\nclass $name {\n${fields.joinToString("") { "$it\n" }}}\n\n"
        }
    }

    private fun write(enum: EnumDescriptor): String {
        val values = HashSet<String>()
        val entries = enum.values.map { "    @JsonProperty(${text(it.name)}) ${quoted(unclashing(it.name, values, RESERVED_VALUES))},\n" }
        return "enum class ${enum(enum).removePrefix("$PLAIN.")} {\n${entries.joinToString("")}}\n\n"
    }

    /** The type of a field and its default. */
    private fun type(field: FieldDescriptor): Pair<String, String> {
        if (field.isMapField) {
            val (key, value) = field.messageType.fields
            return "kotlin.collections.Map<${single(key)}, ${single(value)}>" to "kotlin.collections.emptyMap()"
        }
        if (field.isRepeated) return "kotlin.collections.List<${single(field)}>" to "kotlin.collections.emptyList()"
        val type = single(field)
        if (field.hasPresence() || type.endsWith('?')) return "${type.removeSuffix("?")}?" to "null"
        return type to default(field, type)
    }

    private fun default(field: FieldDescriptor, type: String): String = when (field.javaType) {
        JavaType.BOOLEAN -> "false"
        JavaType.FLOAT -> "0f"
        JavaType.DOUBLE -> "0.0"
        JavaType.STRING -> "\"\""
        JavaType.BYTE_STRING -> "kotlin.ByteArray(0)"
        JavaType.ENUM -> "$type.${quoted(unclashing(field.enumType.values[0].name, HashSet(), RESERVED_VALUES))}"
        else -> when (type) {
            "kotlin.Int" -> "0"
            "kotlin.Long" -> "0L"
            else -> "java.math.BigInteger.ZERO"
        }
    }

    private fun single(field: FieldDescriptor): String = when (field.type) {
        Type.MESSAGE, Type.GROUP -> known(field.messageType) ?: message(field.messageType)
        // Its JSON form is null.
        Type.ENUM -> if (field.enumType.fullName == "google.protobuf.NullValue") "kotlin.Any?" else enum(field.enumType)
        else -> scalar(field.type)
    }

    private fun scalar(type: Type): String = "kotlin." + when (type) {
        Type.BOOL -> "Boolean"
        Type.STRING -> "String"
        Type.BYTES -> "ByteArray"
        Type.FLOAT -> "Float"
        Type.DOUBLE -> "Double"
        Type.INT32, Type.SINT32, Type.SFIXED32 -> "Int"
        Type.UINT32, Type.FIXED32, Type.INT64, Type.SINT64, Type.SFIXED64 -> "Long"
        else -> return "java.math.BigInteger"
    }

    /** The type of a message with its own form in the proto3 JSON mapping. */
    private fun known(message: Descriptor): String? = when (message.fullName.removePrefix("google.protobuf.")) {
        message.fullName -> null
        "Timestamp" -> "java.time.Instant"
        "Duration", "FieldMask" -> "kotlin.String"
        "Any", "Struct" -> "kotlin.collections.Map<kotlin.String, kotlin.Any?>"
        "Value" -> "kotlin.Any?"
        "ListValue" -> "kotlin.collections.List<kotlin.Any?>"
        "BoolValue", "BytesValue", "DoubleValue", "FloatValue", "Int32Value", "Int64Value", "StringValue",
        "UInt32Value", "UInt64Value",
        -> scalar(message.fields[0].type)
        else -> null
    }
}

/** Returns a name that is unique even ignoring case, and that hides nothing. */
internal fun unclashing(name: String, taken: MutableSet<String>, reserved: Set<String> = RESERVED): String {
    val letters = name.map { if (it.isLetterOrDigit() || it == '_') it else '_' }.joinToString("").ifEmpty { "_" }
    var free = letters
    while (free.lowercase() in reserved || !taken.add(free.lowercase())) free += "_"
    return free
}

/** In backticks, even a keyword is a valid name. */
internal fun quoted(name: String) = "`$name`"

internal fun text(text: String): String =
    text.map { if (it in " !#%&'()*+,-./:;<=>?@[]^_`{|}~" || it.isLetterOrDigit()) "$it" else "\\u%04x".format(it.code) }
        .joinToString("", "\"", "\"")
