package rpcgauge

/** The side at fault, and the process's exit code after an error line. */
enum class Fault(val word: String, val exitCode: Int) {
    USER("user", 2),
    INSTRUMENT("instrument", 2),
    SUBJECT("subject", 1),
    MACHINE("machine", 3),
}

/** States what cannot be done, and the side at fault. */
class Refused(val fault: Fault, message: String) : Exception(message)

/** A request that cannot be answered: gRPC's INVALID_ARGUMENT, HTTP's 400. */
class InvalidRequest(message: String) : Exception(message)

/** Returns an error's text in one line. */
fun oneLine(error: Throwable): String {
    val text = error.message ?: error.toString()
    return text.split(Regex("\\s+")).filter { it.isNotEmpty() }.joinToString(" ").ifEmpty { error.javaClass.name }
}
