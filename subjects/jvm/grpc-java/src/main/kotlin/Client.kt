package rpcgauge.grpcjava

import com.google.common.util.concurrent.FutureCallback
import com.google.common.util.concurrent.Futures
import com.google.common.util.concurrent.ListenableFuture
import com.google.common.util.concurrent.MoreExecutors.directExecutor
import reactor.core.publisher.Mono
import rpcgauge.ClientSettings
import rpcgauge.Workload
import rpcgauge.grpc.ManagedChannels
import rpcgauge.grpc.StubClient
import rpcgauge.grpcnetty.NettyChannels

/** Converts the stub's futures to Reactor's Mono. */
class Client(asked: ClientSettings, workload: Workload) :
    StubClient(asked, workload, format(asked, workload), ManagedChannels(asked, NettyChannels()::to)) {
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
