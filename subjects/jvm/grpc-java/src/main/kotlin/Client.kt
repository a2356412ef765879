package rpcgauge.grpcjava

import com.google.common.util.concurrent.FutureCallback
import com.google.common.util.concurrent.Futures
import com.google.common.util.concurrent.ListenableFuture
import com.google.common.util.concurrent.MoreExecutors.directExecutor
import reactor.core.publisher.Mono
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Format
import rpcgauge.Workload
import rpcgauge.grpc.Channels
import rpcgauge.grpc.ManagedChannels
import rpcgauge.grpc.StreamClient
import rpcgauge.grpc.UnaryClient
import rpcgauge.grpcnetty.NettyChannels

fun call(asked: ClientSettings, workload: Workload): Caller {
    val channels = ManagedChannels(asked, NettyChannels()::to)
    val format = format(asked, workload)
    return if (asked.calling.stream == null) Client(asked, workload, format, channels)
    else StreamClient(asked, workload, format, channels)
}

/** Converts the stub's futures to Reactor's Mono. */
private class Client(asked: ClientSettings, workload: Workload, format: Format, channels: Channels) :
    UnaryClient(asked, workload, format, channels) {
    override fun follow(future: ListenableFuture<*>, ended: (Throwable?) -> Unit) {
        mono(future).subscribe({ ended(null) }, ended)
    }

    @Suppress("UNCHECKED_CAST")
    private fun mono(future: ListenableFuture<*>): Mono<Any> = Mono.create { sink ->
        Futures.addCallback(future as ListenableFuture<Any>, object : FutureCallback<Any> {
            override fun onSuccess(response: Any) = sink.success(response)

            override fun onFailure(error: Throwable) = sink.error(error)
        }, directExecutor())
    }
}
