package rpcgauge.grpc

import com.google.common.util.concurrent.FutureCallback
import com.google.common.util.concurrent.Futures
import com.google.common.util.concurrent.ListenableFuture
import com.google.common.util.concurrent.MoreExecutors.directExecutor
import com.google.gson.JsonObject
import io.grpc.stub.StreamObserver
import rpcgauge.ClientSettings
import rpcgauge.Format
import rpcgauge.Record
import rpcgauge.Requests
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.now

/** Unary calls with the stubs of protoc-gen-grpc-java, in one of their three styles. */
open class UnaryClient private constructor(asked: ClientSettings, format: Format, channels: Channels, private val method: GrpcMethod) :
    StubClient(
        asked, format, channels, method::blockingStub, if (asked.style == "future") method::futureStub else method::asyncStub,
    ) {
    constructor(asked: ClientSettings, workload: Workload, format: Format, channels: Channels) :
        this(asked, format, channels, methodOf(workload, format))

    override fun verified(requests: Requests): JsonObject = format.verified(callOnce(requests.next(), Record()))

    private fun callOnce(request: Any, record: Record): Any =
        block(record) { stub -> method.blocking(stub, request).also { record.end = now() } }

    override fun run(tally: Tally) = when (asked.style) {
        "future" -> overlapping.run(tally) { record, end ->
            overlap(record, end) { stub, ended -> follow(method.future(stub, requests.next()), ended) }
        }
        "async" -> overlapping.run(tally) { record, end ->
            overlap(record, end) { stub, ended -> method.async(stub, requests.next(), Observer(ended)) }
        }
        else -> blocking.run(tally) { record -> callOnce(requests.next(), record) }
    }

    /** Reports the outcome of a future without a waiting thread. */
    protected open fun follow(future: ListenableFuture<*>, ended: (Throwable?) -> Unit) =
        Futures.addCallback(future, Observer(ended), directExecutor())

    private class Observer(private val ended: (Throwable?) -> Unit) : StreamObserver<Any>, FutureCallback<Any?> {
        override fun onNext(response: Any) {}

        override fun onError(error: Throwable) = ended(error)

        override fun onCompleted() = ended(null)

        override fun onSuccess(response: Any?) = ended(null)

        override fun onFailure(error: Throwable) = ended(error)
    }
}
