package rpcgauge.armeria

import com.google.common.util.concurrent.FutureCallback
import com.google.common.util.concurrent.Futures
import com.google.common.util.concurrent.ListenableFuture
import com.google.common.util.concurrent.MoreExecutors.directExecutor
import com.google.gson.JsonObject
import com.linecorp.armeria.client.grpc.GrpcClients
import io.grpc.CallOptions
import io.grpc.Channel
import io.grpc.ClientCall
import io.grpc.Codec
import io.grpc.DecompressorRegistry
import io.grpc.MethodDescriptor
import io.grpc.StatusRuntimeException
import io.grpc.stub.AbstractStub
import io.grpc.stub.StreamObserver
import rpcgauge.Blocking
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Fault
import rpcgauge.Overlapping
import rpcgauge.Protobuf
import rpcgauge.Record
import rpcgauge.Refused
import rpcgauge.Requests
import rpcgauge.Sample
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.grpc.GZIP
import rpcgauge.grpc.Stamping
import rpcgauge.grpc.compressors
import rpcgauge.grpc.methodOf
import rpcgauge.json
import rpcgauge.now
import rpcgauge.oneLine
import rpcgauge.parsed

/** Calls by the stubs of protoc-gen-grpc-java, which Armeria's client makes of their class. */
class GrpcCaller(private val asked: ClientSettings, workload: Workload) : Caller {
    private val format = Protobuf(workload)
    private val requests = Requests(asked.requests.map { format.read(Sample.REQUEST, it) })
    private val method = methodOf(workload, asked.encoding)
    private val connections = Connections()
    private val blockingStub = made(method::blockingStub)
    private val stub = when (asked.style) {
        "future" -> made(method::futureStub)
        "async" -> made(method::asyncStub)
        else -> blockingStub
    }
    private val blocking = Blocking(if (asked.style == null || asked.style == "blocking") asked.inFlight else 1)
    private val overlapping = Overlapping(asked.inFlight)

    override val isGenerated get() = format.isGenerated

    private fun made(stub: (Channel) -> AbstractStub<*>): AbstractStub<*> {
        val builder = GrpcClients.builder(asked.session(), asked.endpoint())
            .maxResponseMessageLength(asked.limits.messageBytes)
        builder.limit(asked, connections)
        compressors(asked.requestCompression).takeIf { asked.requestCompression.isGzip }
            ?.let { builder.compressor(checkNotNull(it.lookupCompressor(GZIP))) }
        // The library lists all that it has in each call.
        if (!asked.calling.responseCompression.isGzip) {
            builder.decompressorRegistry(DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false))
        }
        if (asked.calling.marks) builder.intercept(Stamping)
        return builder.build(stub(NoChannel).javaClass)
    }

    private fun AbstractStub<*>.forCall(record: Record): AbstractStub<*> =
        if (asked.calling.marks) withOption(Stamping.RECORD, record) else this

    private fun call(request: Any, record: Record): Any =
        method.blocking(blockingStub.forCall(record), request).also { record.end = now() }

    override fun verify(): JsonObject {
        val response = try {
            call(requests.first, Record())
        } catch (error: StatusRuntimeException) {
            throw Refused(Fault.SUBJECT, oneLine(error))
        }
        return json("message" to parsed(format.write(response)))
    }

    override fun reopen(): Int = connections.reopen(::verify)

    override fun run(tally: Tally) = when (asked.style) {
        "future" -> overlapping.run(tally) { record, end ->
            val future = method.future(stub.forCall(record), requests.next())
            Futures.addCallback(future as ListenableFuture<*>, Ended(record, end), directExecutor())
        }
        "async" -> overlapping.run(tally) { record, end ->
            method.async(stub.forCall(record), requests.next(), Ended(record, end))
        }
        else -> blocking.run(tally) { record -> call(requests.next(), record) }
    }

    /** The end of a call, as a future and as a stub tell it. */
    private class Ended(private val record: Record, private val end: (Throwable?) -> Unit) :
        FutureCallback<Any?>, StreamObserver<Any> {
        private fun ended(error: Throwable?) {
            record.end = now()
            end(error)
        }

        override fun onSuccess(response: Any?) = ended(null)

        override fun onFailure(error: Throwable) = ended(error)

        override fun onNext(response: Any) {}

        override fun onError(error: Throwable) = ended(error)

        override fun onCompleted() = ended(null)
    }

    /** For the class of a stub alone. */
    private object NoChannel : Channel() {
        override fun <Q, R> newCall(method: MethodDescriptor<Q, R>, options: CallOptions): ClientCall<Q, R> =
            throw UnsupportedOperationException()

        override fun authority() = "localhost"
    }
}
