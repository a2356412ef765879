package rpcgauge

/** The content of a slice line: a number of calls or a time. A codec's slice has a batch, which is 0 for a client. */
class Slice(val skip: Long, val calls: Long?, val timeUs: Long?, val batch: Int)

/** A line after the settings: the part that it is for, and the slice; null for verify. */
class Ask(val part: Int, val slice: Slice?)

fun parseAsk(line: String, inBatches: Boolean): Ask {
    val shape = Shape("the line", parseObject(line, "the line"))
    val part = shape.integerOrNull("part", 0, Int.MAX_VALUE.toLong())?.toInt() ?: 0
    if (shape.has("verify")) {
        val isVerify = shape.flag("verify")
        shape.end()
        return if (isVerify) Ask(part, null) else throw instrument("the line has neither verify nor slice")
    }
    val asked = Shape("the slice", shape.obj("slice"))
    shape.end()
    val slice = Slice(
        asked.integer("skip", 0),
        asked.integerOrNull("calls", 1),
        asked.integerOrNull("time_us", 0),
        asked.integerOrNull("batch", 1, Int.MAX_VALUE.toLong())?.toInt() ?: 0,
    )
    asked.end()
    if ((slice.calls == null) == (slice.timeUs == null)) throw instrument("the slice must have either calls or time_us")
    if ((slice.batch > 0) != inBatches) throw instrument("a codec's slice must have batch, and a client's must not")
    return Ask(part, slice)
}
