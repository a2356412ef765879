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
import rpcgauge.ClientSettings

internal const val UNIX = "unix:"

/** HTTP/2 with prior knowledge, or HTTP/1.1. */
internal fun ClientSettings.session() = if (calling.http == "2") SessionProtocol.H2C else SessionProtocol.H1C

internal fun ClientSettings.endpoint(): Endpoint {
    val path = address.removePrefix(UNIX)
    return if (path == address) Endpoint.parse(address) else Endpoint.of(DomainSocketAddress.of(Path.of(path)))
}

/** The library's connections, which stay open between slices. */
internal class Connections : ConnectionPoolListenerAdapter() {
    private val lost = AtomicInteger()

    val factory: ClientFactory = ClientFactory.builder().idleTimeoutMillis(0).connectionPoolListener(this).build()

    override fun connectionClosed(
        protocol: SessionProtocol, remote: InetSocketAddress, local: InetSocketAddress, attributes: AttributeMap,
    ) {
        lost.incrementAndGet()
    }

    /** The library opens a connection for a call only: one that nobody records. */
    fun reopen(call: () -> Any): Int {
        if (lost.getAndSet(0) == 0) return 0
        call()
        return 1
    }
}

/** What both clients have. The name of a socket's file is no authority that every server takes. */
internal fun AbstractClientOptionsBuilder.limit(asked: ClientSettings, connections: Connections) {
    factory(connections.factory)
    responseTimeoutMillis(asked.deadlineMs)
    maxResponseLength(asked.limits.messageBytes.toLong())
    if (asked.address.startsWith(UNIX)) setHeader(HttpHeaderNames.AUTHORITY, "localhost")
}
