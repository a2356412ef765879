package rpcgauge

import com.google.gson.JsonArray
import com.google.gson.JsonElement
import com.google.gson.JsonObject
import com.google.gson.JsonParser
import com.google.gson.JsonPrimitive
import com.google.gson.JsonSyntaxException
import com.google.gson.Strictness
import com.google.gson.stream.JsonReader
import com.google.gson.stream.JsonToken
import java.io.IOException
import java.io.StringReader
import java.math.BigDecimal

/** A JSON object whose keys are removed as they are read; keys left at the end are unknown. */
class Shape(private val what: String, from: JsonObject) {
    private val left = LinkedHashMap(from.asMap())

    fun has(key: String): Boolean = left.containsKey(key)

    private fun wrong(key: String, value: JsonElement?): Refused =
        instrument("$what: $key cannot be $value")

    private fun take(key: String): JsonElement? = left.remove(key)

    fun any(key: String): JsonElement = take(key) ?: throw instrument("$what lacks \"$key\"")

    private fun <T : Any> optional(key: String, read: (JsonElement) -> T?): T? {
        val value = take(key) ?: return null
        return read(value) ?: throw wrong(key, value)
    }

    fun textOrNull(key: String): String? =
        optional(key) { if (it is JsonPrimitive && it.isString) it.asString else null }

    fun text(key: String): String = textOrNull(key) ?: throw instrument("$what lacks \"$key\"")

    fun oneOfOrNull(key: String, values: List<String>): String? {
        val text = textOrNull(key) ?: return null
        return text.takeIf { it in values } ?: throw wrong(key, JsonPrimitive(text))
    }

    fun oneOf(key: String, vararg values: String): String =
        oneOfOrNull(key, values.asList()) ?: throw instrument("$what lacks \"$key\"")

    fun flag(key: String): Boolean =
        optional(key) { if (it is JsonPrimitive && it.isBoolean) it.asBoolean else null } ?: false

    fun integerOrNull(key: String, least: Long, most: Long = Long.MAX_VALUE): Long? = optional(key) {
        if (it !is JsonPrimitive || !it.isNumber) return@optional null
        val number = runCatching { BigDecimal(it.asString).longValueExact() }.getOrNull()
        number?.takeIf { it in least..most }
    }

    fun integer(key: String, least: Long, most: Long = Long.MAX_VALUE): Long =
        integerOrNull(key, least, most) ?: throw instrument("$what lacks \"$key\"")

    fun objectOrNull(key: String): JsonObject? = optional(key) { it as? JsonObject }

    fun obj(key: String): JsonObject = objectOrNull(key) ?: throw instrument("$what lacks \"$key\"")

    fun list(key: String): List<JsonElement> {
        val list = any(key)
        if (list !is JsonArray || list.isEmpty) throw wrong(key, list)
        return list.asList()
    }

    /** Refuses keys that have not been read. */
    fun end() {
        val unknown = left.keys.firstOrNull() ?: return
        throw instrument("$what has an unknown key \"$unknown\"")
    }
}

fun instrument(text: String): Refused = Refused(Fault.INSTRUMENT, text)

fun user(text: String): Refused = Refused(Fault.USER, text)

/** A line of the contract: one JSON object, and nothing after it. */
fun parseObject(line: String, what: String): JsonObject {
    try {
        val reader = JsonReader(StringReader(line))
        reader.strictness = Strictness.STRICT
        val value = JsonParser.parseReader(reader)
        if (reader.peek() != JsonToken.END_DOCUMENT) throw instrument("$what: there is text after the object")
        return value as? JsonObject ?: throw instrument("$what is not a JSON object")
    } catch (error: RuntimeException) {
        throw instrument("$what is not a JSON object: ${oneLine(error)}")
    } catch (error: IOException) {
        throw instrument("$what is not a JSON object: ${oneLine(error)}")
    }
}

/** JSON text as a value of a reply. */
fun parsed(text: String): JsonElement = try {
    JsonParser.parseString(text)
} catch (error: JsonSyntaxException) {
    throw Refused(Fault.SUBJECT, "the stack did not write valid JSON: ${oneLine(error)}")
}
