package rpcgauge.grpcjava

import com.google.common.util.concurrent.FutureCallback
import com.google.common.util.concurrent.Futures
import com.google.common.util.concurrent.ListenableFuture
import com.google.common.util.concurrent.MoreExecutors.directExecutor
import io.grpc.Channel
import io.grpc.stub.AbstractStub
import io.grpc.stub.StreamObserver
import reactor.core.publisher.Mono
import rpcgauge.Blocking
import rpcgauge.ClientSettings
import rpcgauge.Overlapping
import rpcgauge.Record
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.grpc.GrpcClient
import rpcgauge.grpc.methodOf
import rpcgauge.grpcnetty.NettyChannels
import rpcgauge.now

/** Calls by the stubs of protoc-gen-grpc-java, in one of their three styles. */
class Client(asked: ClientSettings, workload: Workload) :
    GrpcClient(asked, format(asked, workload), NettyChannels()::to) {
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
        return perCall { channel, close ->
            try {
                call(method.blockingStub(channel), request, record)
            } finally {
                close()
            }
        }
    }

    private fun call(stub: AbstractStub<*>, request: Any, record: Record): Any =
        method.blocking(stub.forCall(record), request).also { record.end = now() }

    override fun run(tally: Tally) = when (asked.style) {
        "future" -> overlapping.run(tally) { record, end ->
            overlap(record, end) { stub, ended ->
                mono(method.future(stub, requests.next())).subscribe({ ended(null) }, ended)
            }
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
        perCall { channel, close ->
            make(stubs(channel).forCall(record)) { error ->
                close()
                record.end = now()
                end(error)
            }
        }
    }

    /** The future as Reactor has it, without a thread that waits. */
    @Suppress("UNCHECKED_CAST")
    private fun mono(future: ListenableFuture<*>): Mono<Any> = Mono.create { sink ->
        Futures.addCallback(future as ListenableFuture<Any>, object : FutureCallback<Any> {
            override fun onSuccess(response: Any) = sink.success(response)

            override fun onFailure(error: Throwable) = sink.error(error)
        }, directExecutor())
    }

    private class Observer(private val ended: (Throwable?) -> Unit) : StreamObserver<Any> {
        override fun onNext(response: Any) {}

        override fun onError(error: Throwable) = ended(error)

        override fun onCompleted() = ended(null)
    }
}
