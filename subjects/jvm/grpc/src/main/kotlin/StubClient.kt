package rpcgauge.grpc

import com.google.common.util.concurrent.FutureCallback
import com.google.common.util.concurrent.Futures
import com.google.common.util.concurrent.ListenableFuture
import com.google.common.util.concurrent.MoreExecutors.directExecutor
import io.grpc.Channel
import io.grpc.stub.AbstractStub
import io.grpc.stub.StreamObserver
import rpcgauge.Blocking
import rpcgauge.ClientSettings
import rpcgauge.Format
import rpcgauge.Overlapping
import rpcgauge.Record
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.now

/** Calls with the stubs of protoc-gen-grpc-java, in one of their three styles. */
open class StubClient(asked: ClientSettings, workload: Workload, format: Format, channels: Channels) :
    GrpcClient(asked, format, channels) {
    private val method = methodOf(workload, format)
    private val stubs: (Channel) -> AbstractStub<*> = when (asked.style) {
        "future" -> method::futureStub
        "async" -> method::asyncStub
        else -> method::blockingStub
    }
    private val stub = channel?.let(stubs)
    private val blockingStub = channel?.let(method::blockingStub)
    private val blocking = Blocking(if (asked.style == null || asked.style == "blocking") asked.inFlight else 1)
    private val overlapping = Overlapping(asked.inFlight)

    override fun callOnce(request: Any, record: Record): Any {
        if (blockingStub != null) return call(blockingStub, request, record)
        val (channel, close) = perCall()
        try {
            return call(method.blockingStub(channel), request, record)
        } finally {
            close()
        }
    }

    private fun call(stub: AbstractStub<*>, request: Any, record: Record): Any =
        method.blocking(stub.forCall(record), request).also { record.end = now() }

    override fun run(tally: Tally) = when (asked.style) {
        "future" -> overlapping.run(tally) { record, end ->
            overlap(record, end) { stub, ended -> follow(method.future(stub, requests.next()), ended) }
        }
        "async" -> overlapping.run(tally) { record, end ->
            overlap(record, end) { stub, ended -> method.async(stub, requests.next(), Observer(ended)) }
        }
        else -> blocking.run(tally) { record -> callOnce(requests.next(), record) }
    }

    private fun overlap(record: Record, end: (Throwable?) -> Unit, make: (AbstractStub<*>, (Throwable?) -> Unit) -> Unit) {
        if (stub != null) {
            return make(stub.forCall(record)) { error ->
                record.end = now()
                end(error)
            }
        }
        val (channel, close) = perCall()
        make(stubs(channel).forCall(record)) { error ->
            close()
            record.end = now()
            end(error)
        }
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
