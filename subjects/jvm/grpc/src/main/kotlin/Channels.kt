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

/** The channels of a client: one for all calls, or one for each call. */
interface Channels {
    /** Null if each call has its own channel. */
    val kept: Channel?

    /** Opens a channel for one call, and returns it with a function that closes it. */
    fun perCall(): Pair<Channel, () -> Unit>

    /** Returns a stub that compresses its requests according to the settings. */
    fun compressing(stub: AbstractStub<*>): AbstractStub<*>

    /** Reopens lost connections, with calls by `run` if the library has no other way, and returns their number. */
    fun reopen(run: (Tally) -> Unit): Int
}

/** grpc-java's channels. */
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

/** The compressions that a client accepts; by default a library lists all that it supports in each call. */
fun decompressors(asked: ClientSettings): DecompressorRegistry? =
    if (asked.calling.responseCompression.isGzip) null
    else DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false)
