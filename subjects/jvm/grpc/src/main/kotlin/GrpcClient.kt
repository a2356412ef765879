package rpcgauge.grpc

import com.google.gson.JsonObject
import io.grpc.CallOptions
import io.grpc.Channel
import io.grpc.ClientCall
import io.grpc.ClientInterceptor
import io.grpc.ClientInterceptors
import io.grpc.ClientStreamTracer
import io.grpc.Codec
import io.grpc.ConnectivityState
import io.grpc.DecompressorRegistry
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener
import io.grpc.ManagedChannel
import io.grpc.ManagedChannelBuilder
import io.grpc.Metadata
import io.grpc.MethodDescriptor
import io.grpc.stub.AbstractStub
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Fault
import rpcgauge.Format
import rpcgauge.Record
import rpcgauge.Refused
import rpcgauge.Requests
import rpcgauge.Sample
import rpcgauge.json
import rpcgauge.now
import rpcgauge.oneLine
import rpcgauge.parsed

/** What the clients on grpc-java's channels share: the channel, or one for each call. */
abstract class GrpcClient(
    protected val asked: ClientSettings,
    protected val format: Format,
    private val build: (String) -> ManagedChannelBuilder<*>,
) : Caller {
    protected val requests = Requests(asked.requests.map { format.read(Sample.REQUEST, it) })
    private val isPerCall = asked.connection == "per-call"
    private val kept: ManagedChannel? = if (isPerCall) null else open()

    /** The kept channel, as stubs see it. */
    protected val channel: Channel? = kept?.let(::stamping)

    override val isGenerated get() = format.isGenerated

    init {
        kept?.let(::connect)
    }

    /** Makes a call as a user does who waits for it. */
    protected abstract fun callOnce(request: Any, record: Record): Any

    override fun verify(): JsonObject {
        val response = try {
            callOnce(requests.first, Record())
        } catch (error: RuntimeException) {
            throw Refused(Fault.SUBJECT, oneLine(error))
        }
        return json("message" to parsed(format.write(response)))
    }

    override fun reopen(): Int {
        if (kept == null || kept.getState(false) == ConnectivityState.READY) return 0
        connect(kept)
        return 1
    }

    private fun open(): ManagedChannel {
        val builder = build(asked.address)
            .maxInboundMessageSize(asked.limits.messageBytes)
            .compressorRegistry(compressors(asked.requestCompression))
        // The library lists all that it has in each call.
        if (!asked.calling.responseCompression.isGzip) {
            builder.decompressorRegistry(DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false))
        }
        return builder.build()
    }

    private fun connect(channel: ManagedChannel) {
        val until = now() + TimeUnit.MILLISECONDS.toNanos(asked.deadlineMs)
        while (true) {
            val state = channel.getState(true)
            if (state == ConnectivityState.READY) return
            val left = until - now()
            if (left <= 0) throw Refused(Fault.MACHINE, "no connection to ${asked.address} in ${asked.deadlineMs} ms")
            if (state == ConnectivityState.TRANSIENT_FAILURE) channel.resetConnectBackoff()
            val changed = CountDownLatch(1)
            channel.notifyWhenStateChanged(state, changed::countDown)
            changed.await(minOf(left, RETRY_NS), TimeUnit.NANOSECONDS)
        }
    }

    /** A channel for one call, with what closes it. */
    protected fun <T> perCall(use: (Channel, () -> Unit) -> T): T {
        val channel = open()
        return use(stamping(channel)) { channel.shutdownNow() }
    }

    private fun stamping(channel: ManagedChannel): Channel =
        if (asked.calling.marks) ClientInterceptors.intercept(channel, Stamping) else channel

    /** A stub for one call. */
    protected fun AbstractStub<*>.forCall(record: Record): AbstractStub<*> {
        var stub: AbstractStub<*> = withDeadlineAfter(asked.deadlineMs, TimeUnit.MILLISECONDS)
        if (asked.requestCompression.isGzip) stub = stub.withCompression(GZIP)
        if (asked.calling.marks) stub = stub.withOption(Stamping.RECORD, record)
        return stub
    }

    private companion object {
        const val RETRY_NS = 20_000_000L
    }
}

/** Stamps calls below the stub, and reads the marks. It is there only where stages are timed. */
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
