package rpcgauge

/** The side at fault, and the process's exit code after an error line. */
enum class Fault(val word: String, val exitCode: Int) {
    USER("user", 2),
    INSTRUMENT("instrument", 2),
    SUBJECT("subject", 1),
    MACHINE("machine", 3),
}

/** What cannot be done, and whose fault that is. */
class Refused(val fault: Fault, message: String) : Exception(message)

/** A request that has no answer: gRPC's INVALID_ARGUMENT, HTTP's 400. */
class InvalidRequest(message: String) : Exception(message)

/** An error's text in one line. */
fun oneLine(error: Throwable): String {
    val text = error.message ?: error.toString()
    return text.split(Regex("\\s+")).filter { it.isNotEmpty() }.joinToString(" ").ifEmpty { error.javaClass.name }
}
