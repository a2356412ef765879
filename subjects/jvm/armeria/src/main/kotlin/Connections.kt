package rpcgauge.armeria

import com.linecorp.armeria.client.AbstractClientOptionsBuilder
import com.linecorp.armeria.client.ClientFactory
import com.linecorp.armeria.client.ConnectionPoolListenerAdapter
import com.linecorp.armeria.client.Endpoint
import com.linecorp.armeria.common.HttpHeaderNames
import com.linecorp.armeria.common.SessionProtocol
import com.linecorp.armeria.common.util.DomainSocketAddress
import io.netty.util.AttributeMap
import java.net.InetSocketAddress
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger
import rpcgauge.Calling
import rpcgauge.ClientSettings
import rpcgauge.Limits
import rpcgauge.Slice
import rpcgauge.Tally

internal const val UNIX = "unix:"

/** The limit on a whole body; 0 is none. The body of a stream has any length, and its messages have their own limit. */
internal fun Calling.bodyBytes(limits: Limits): Long = if (stream == null) limits.messageBytes.toLong() else 0

/** The library's connections to a server, and the options that both clients use. */
internal class Connections(private val asked: ClientSettings) {
    private val lost = AtomicInteger()

    private val listener = object : ConnectionPoolListenerAdapter() {
        override fun connectionClosed(
            protocol: SessionProtocol, remote: InetSocketAddress, local: InetSocketAddress, attributes: AttributeMap,
        ) {
            lost.incrementAndGet()
        }
    }

    /** Connections stay open between slices. */
    private val factory = ClientFactory.builder().idleTimeoutMillis(0).connectionPoolListener(listener).build()

    /** HTTP/2 with prior knowledge, or HTTP/1.1. */
    val protocol: SessionProtocol = if (asked.calling.http == "2") SessionProtocol.H2C else SessionProtocol.H1C

    val endpoint: Endpoint = asked.address.removePrefix(UNIX).let {
        if (it == asked.address) Endpoint.parse(it) else Endpoint.of(DomainSocketAddress.of(Path.of(it)))
    }

    fun set(client: AbstractClientOptionsBuilder) {
        client.factory(factory)
            .responseTimeoutMillis(asked.deadlineMs)
            .maxResponseLength(asked.calling.bodyBytes(asked.limits))
        // Not every server accepts the name of a socket file as the authority.
        if (asked.address.startsWith(UNIX)) client.setHeader(HttpHeaderNames.AUTHORITY, "localhost")
    }

    /** Opens connections with unrecorded calls by `run`, one per call in flight; the library offers no other way. */
    fun reopen(run: (Tally) -> Unit): Int {
        val number = lost.getAndSet(0)
        if (number > 0) run(Tally(Slice(0, asked.inFlight.toLong(), null, 0)))
        return number
    }
}
