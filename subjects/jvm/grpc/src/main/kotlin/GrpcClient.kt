package rpcgauge.grpc

import com.google.gson.JsonObject
import io.grpc.CallOptions
import io.grpc.Channel
import io.grpc.ClientCall
import io.grpc.ClientInterceptor
import io.grpc.ClientInterceptors
import io.grpc.ClientStreamTracer
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener
import io.grpc.Metadata
import io.grpc.MethodDescriptor
import io.grpc.stub.AbstractStub
import java.util.concurrent.TimeUnit
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Fault
import rpcgauge.Format
import rpcgauge.Record
import rpcgauge.Refused
import rpcgauge.Requests
import rpcgauge.Sample
import rpcgauge.now
import rpcgauge.oneLine

/** Code shared by the clients that use grpc-java's stubs. */
abstract class GrpcClient(
    protected val asked: ClientSettings,
    protected val format: Format,
    private val channels: Channels,
) : Caller {
    protected val requests = Requests(asked.samples.map { format.read(Sample.REQUEST, it) })

    /** The persistent channel, as stubs see it. */
    protected val channel: Channel? = channels.kept?.let(::stamping)

    /** Makes a call, waits for its end, and returns the value of "verified". */
    protected abstract fun verified(requests: Requests): JsonObject

    override fun verify(): JsonObject = try {
        verified(requests.again())
    } catch (error: Exception) {
        throw error as? Refused ?: Refused(Fault.SUBJECT, oneLine(error))
    }

    override fun reopen(): Int = channels.reopen(::run)

    /** Opens a channel for one call, and returns it with a function that closes it. */
    protected fun perCall(): Pair<Channel, () -> Unit> {
        val (channel, close) = channels.perCall()
        return stamping(channel) to close
    }

    private fun stamping(channel: Channel): Channel =
        if (asked.calling.marks) ClientInterceptors.intercept(channel, Stamping) else channel

    /** Returns a stub for one call. */
    protected fun AbstractStub<*>.forCall(record: Record): AbstractStub<*> {
        var stub: AbstractStub<*> = withDeadlineAfter(asked.deadlineMs, TimeUnit.MILLISECONDS)
        if (asked.requestCompression.isGzip) stub = channels.compressing(stub)
        if (asked.calling.marks) stub = stub.withOption(Stamping.RECORD, record)
        return stub
    }
}

/** Stamps calls below the stub, and reads the marks. It is installed only if stages are timed. */
object Stamping : ClientInterceptor {
    val RECORD: CallOptions.Key<Record> = CallOptions.Key.create("rpcgauge-record")

    private object Tracers : ClientStreamTracer.Factory() {
        override fun newClientStreamTracer(info: ClientStreamTracer.StreamInfo, headers: Metadata): ClientStreamTracer =
            Tracer(checkNotNull(info.callOptions.getOption(RECORD)))
    }

    private class Tracer(private val record: Record) : ClientStreamTracer() {
        override fun outboundMessageSent(number: Int, wireSize: Long, plainSize: Long) {
            record.encoded = now()
            record.requestBytes = wireSize.toInt()
        }

        override fun inboundHeaders() {
            record.first = now()
        }

        override fun inboundMessageRead(number: Int, wireSize: Long, plainSize: Long) {
            record.received = now()
            record.responseBytes = wireSize.toInt()
        }
    }

    override fun <Q, R> interceptCall(method: MethodDescriptor<Q, R>, options: CallOptions, next: Channel): ClientCall<Q, R> {
        val record = options.getOption(RECORD) ?: return next.newCall(method, options)
        val call = next.newCall(method, options.withStreamTracerFactory(Tracers))
        return object : SimpleForwardingClientCall<Q, R>(call) {
            override fun start(listener: Listener<R>, headers: Metadata) {
                super.start(Reading(listener, record), headers)
            }
        }
    }

    private class Reading<R>(listener: ClientCall.Listener<R>, private val record: Record) :
        SimpleForwardingClientCallListener<R>(listener) {
        override fun onHeaders(headers: Metadata) {
            record.readMarks { headers.get(if (it == rpcgauge.HANDLER_START) START else END) }
            super.onHeaders(headers)
        }
    }
}
