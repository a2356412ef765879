package rpcgauge.grpc

import io.grpc.stub.ClientCallStreamObserver
import io.grpc.stub.ClientResponseObserver
import rpcgauge.Stream
import rpcgauge.StreamMessages

/**
 * The messages of a call with the stub that takes observers. The library runs its callbacks one after the other. The
 * client sends only while the transport accepts messages.
 */
internal class AsyncExchange(
    private val stream: Stream,
    private val messages: StreamMessages,
    private val ended: (Throwable?) -> Unit,
) : ClientResponseObserver<Any, Any> {
    private lateinit var call: ClientCallStreamObserver<Any>

    override fun beforeStart(call: ClientCallStreamObserver<Any>) {
        this.call = call
        if (stream.form.clientStreams) call.setOnReadyHandler(if (stream.inTurn) ::begin else ::sendAll)
    }

    /** Sends the first of the messages that are sent in turn. */
    private fun begin() {
        if (messages.isNew) send()
    }

    private fun sendAll() {
        while (messages.hasNext && call.isReady) send()
    }

    private fun send() {
        call.onNext(messages.next())
        if (!messages.hasNext) call.onCompleted()
    }

    override fun onNext(response: Any) {
        messages.received(response)
        if (stream.inTurn && messages.hasNext) send()
    }

    override fun onError(error: Throwable) = ended(error)

    override fun onCompleted() = ended(null)
}
