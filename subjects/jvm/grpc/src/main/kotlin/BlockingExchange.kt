package rpcgauge.grpc

import io.grpc.stub.AbstractStub
import io.grpc.stub.BlockingClientCall
import java.util.concurrent.Callable
import java.util.concurrent.Executors
import rpcgauge.Stream
import rpcgauge.StreamMessages

/**
 * The messages of a call with the blocking stub: an iterator of responses, or a call that reads and writes. The library
 * allows one thread to read while another writes, which prevents a deadlock if neither side reads.
 */
internal class BlockingExchange(private val method: StreamMethod, private val stream: Stream) {
    private val writers = Executors.newCachedThreadPool { Thread(it, "writer").apply { isDaemon = true } }

    /** Returns when the server has ended the call. */
    fun run(stub: AbstractStub<*>, messages: StreamMessages) {
        if (!stream.form.clientStreams) {
            for (response in method.blocking(stub, messages.next())) messages.received(checkNotNull(response))
            return
        }
        val call = method.blocking(stub)
        when {
            stream.inTurn -> while (call.writeNext(messages) && call.readNext(messages)) {}
            stream.form.serverStreams -> return exchange(call, messages)
            else -> while (call.writeNext(messages)) {}
        }
        while (call.readNext(messages)) {}
    }

    private fun exchange(call: BlockingClientCall<Any, Any>, messages: StreamMessages) {
        val writing = writers.submit(Callable { while (call.writeNext(messages)) {} })
        try {
            while (call.readNext(messages)) {}
        } finally {
            // After the call has ended, writing ends too. If that is with an error, reading has reported it.
            runCatching { writing.get() }
        }
    }

    /** Writes the next request, and after the last one ends the client's side. Returns whether there are more. */
    private fun BlockingClientCall<Any, Any>.writeNext(messages: StreamMessages): Boolean {
        if (!write(messages.next())) {
            messages.refused()
            return false
        }
        if (!messages.hasNext) halfClose()
        return messages.hasNext
    }

    /** Reads a response. Returns whether there was one. */
    private fun BlockingClientCall<Any, Any>.readNext(messages: StreamMessages): Boolean {
        messages.received(read() ?: return false)
        return true
    }
}
