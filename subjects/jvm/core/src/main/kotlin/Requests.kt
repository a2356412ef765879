package rpcgauge

import java.util.concurrent.atomic.AtomicInteger

/** A client's requests, which it cycles through over its whole life. */
class Requests(private val all: List<Any>) {
    private val turn = AtomicInteger()

    val first: Any get() = all[0]

    /** The same requests from the first one on, regardless of those that were taken. */
    fun again() = Requests(all)

    fun next(): Any = all[Integer.remainderUnsigned(turn.getAndIncrement(), all.size)]
}
