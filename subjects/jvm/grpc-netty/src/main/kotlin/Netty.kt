package rpcgauge.grpcnetty

import io.grpc.BindableService
import io.grpc.ManagedChannelBuilder
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerDomainSocketChannel
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress
import java.io.IOException
import java.net.InetSocketAddress
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import rpcgauge.Fault
import rpcgauge.Refused
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.grpc.Marks
import rpcgauge.grpc.compressors
import rpcgauge.oneLine
import rpcgauge.removeSocket

private const val UNIX = "unix:"

/**
 * Applies the settings to a server on Netty's native transport, regardless of what starts it. `threads` event loops
 * transfer the bytes, and the same number of threads run the handler, because the library separates the two.
 */
fun NettyServerBuilder.asAsked(asked: ServerSettings): NettyServerBuilder {
    checkEpoll()
    val loops = EpollEventLoopGroup(asked.threads)
    val isUnix = asked.listen.path != null
    channelType(if (isUnix) EpollServerDomainSocketChannel::class.java else EpollServerSocketChannel::class.java)
        .bossEventLoopGroup(loops)
        .workerEventLoopGroup(loops)
        .executor(Executors.newFixedThreadPool(asked.threads))
        .maxInboundMessageSize(asked.limits.messageBytes)
        .compressorRegistry(compressors(asked.calling.responseCompression))
    return if (asked.calling.marks) intercept(Marks.Interceptor) else this
}

/** grpc-java's server without a framework. */
class NettyServer(private val asked: ServerSettings, service: BindableService) : Server {
    private val server: io.grpc.Server

    init {
        val path = asked.listen.path
        val address = if (path == null) InetSocketAddress(asked.listen.host, 0) else DomainSocketAddress(path)
        val builder = NettyServerBuilder.forAddress(address).asAsked(asked).addService(service)
        server = try {
            builder.build().start()
        } catch (error: IOException) {
            throw Refused(Fault.MACHINE, "cannot listen: ${oneLine(error)}; choose another address")
        }
    }

    override val address: String = asked.listen.path?.let { UNIX + it } ?: "${asked.listen.host.inUrl()}:${server.port}"

    override fun close() {
        server.shutdownNow().awaitTermination(1, TimeUnit.SECONDS)
        removeSocket(asked.listen)
    }
}

private fun String.inUrl() = if (':' in this) "[$this]" else this

private fun checkEpoll() {
    if (!Epoll.isAvailable()) throw Refused(Fault.MACHINE, "Netty has no native transport: ${Epoll.unavailabilityCause()}")
}

/** Builds channels to an address in a settings line; the channels share an event loop. */
class NettyChannels {
    private val loops: EventLoopGroup

    init {
        checkEpoll()
        loops = EpollEventLoopGroup(1)
    }

    fun to(address: String): ManagedChannelBuilder<*> {
        val path = address.removePrefix(UNIX)
        if (path == address) {
            // The server is on this host, so proxies from the environment must be ignored.
            return NettyChannelBuilder.forTarget("dns:///$address").usePlaintext().proxyDetector { null }
        }
        return NettyChannelBuilder.forAddress(DomainSocketAddress(path))
            .eventLoopGroup(loops)
            .channelType(EpollDomainSocketChannel::class.java)
            .overrideAuthority("localhost")
            .usePlaintext()
    }
}
