package rpcgauge.grpc

import io.grpc.Channel
import io.grpc.Codec
import io.grpc.ConnectivityState
import io.grpc.DecompressorRegistry
import io.grpc.ManagedChannel
import io.grpc.ManagedChannelBuilder
import io.grpc.stub.AbstractStub
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import rpcgauge.ClientSettings
import rpcgauge.Fault
import rpcgauge.Refused
import rpcgauge.Tally
import rpcgauge.now

/** Where a client's calls go: to one channel, or each to its own. */
interface Channels {
    /** Null where each call has its own. */
    val kept: Channel?

    /** A channel for one call, with what closes it. */
    fun perCall(): Pair<Channel, () -> Unit>

    /** A stub that compresses its requests as asked. */
    fun compressing(stub: AbstractStub<*>): AbstractStub<*>

    /** Opens lost connections again, where a library does so for calls only by those of `run`; returns their number. */
    fun reopen(run: (Tally) -> Unit): Int
}

/** Those of grpc-java. */
class ManagedChannels(private val asked: ClientSettings, private val build: (String) -> ManagedChannelBuilder<*>) :
    Channels {
    override val kept: ManagedChannel? = if (asked.connection == "per-call") null else open()

    init {
        kept?.let(::connect)
    }

    override fun perCall(): Pair<Channel, () -> Unit> = open().let { it to { it.shutdownNow() } }

    override fun compressing(stub: AbstractStub<*>): AbstractStub<*> = stub.withCompression(GZIP)

    override fun reopen(run: (Tally) -> Unit): Int {
        if (kept == null || kept.getState(false) == ConnectivityState.READY) return 0
        connect(kept)
        return 1
    }

    private fun open(): ManagedChannel {
        val builder = build(asked.address)
            .maxInboundMessageSize(asked.limits.messageBytes)
            .compressorRegistry(compressors(asked.requestCompression))
        decompressors(asked)?.let(builder::decompressorRegistry)
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

    private companion object {
        const val RETRY_NS = 20_000_000L
    }
}

/** What a client takes: a library lists all that it has in each call, where it is not told otherwise. */
fun decompressors(asked: ClientSettings): DecompressorRegistry? =
    if (asked.calling.responseCompression.isGzip) null
    else DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false)
