package rpcgauge

import java.util.concurrent.CountDownLatch
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicInteger

/** Calls that return when they have ended: one thread per call in flight, the first of which is the current thread. */
class Blocking(private val inFlight: Int) {
    private val others: ExecutorService? = if (inFlight == 1) null else Executors.newFixedThreadPool(inFlight - 1) {
        Thread(it, "caller").apply { isDaemon = true }
    }

    fun run(tally: Tally, call: (Record) -> Unit) {
        val work = {
            while (true) {
                val next = tally.next() ?: break
                try {
                    call(next.record)
                    next.done()
                } catch (error: Exception) {
                    next.failed(error)
                }
            }
        }
        val running = List(inFlight - 1) { checkNotNull(others).submit(work) }
        work()
        running.forEach { it.get() }
    }
}

/** Calls that return immediately and report their end on a thread of the library: null, or the error. */
class Overlapping(private val inFlight: Int) {
    fun run(tally: Tally, call: (Record, (Throwable?) -> Unit) -> Unit) {
        val ended = CountDownLatch(inFlight)
        repeat(inFlight) { Chain(tally, call, ended).go() }
        ended.await()
    }

    /** Consecutive calls. A call that ends before it has returned must not make the call stack grow. */
    private class Chain(
        private val tally: Tally,
        private val call: (Record, (Throwable?) -> Unit) -> Unit,
        private val ended: CountDownLatch,
    ) {
        private val turns = AtomicInteger()

        fun go() {
            if (turns.getAndIncrement() > 0) return
            do {
                val next = tally.next()
                if (next == null) {
                    ended.countDown()
                    return
                }
                val end = { error: Throwable? ->
                    if (error == null) next.done() else next.failed(error)
                    go()
                }
                try {
                    call(next.record, end)
                } catch (error: Exception) {
                    end(error)
                }
            } while (turns.decrementAndGet() > 0)
        }
    }
}
