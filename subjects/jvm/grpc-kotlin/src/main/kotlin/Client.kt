package rpcgauge.grpckotlin

import io.grpc.stub.AbstractStub
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import rpcgauge.ClientSettings
import rpcgauge.Record
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.grpc.GrpcClient
import rpcgauge.grpc.ManagedChannels
import rpcgauge.grpc.formatOf
import rpcgauge.grpcnetty.NettyChannels
import rpcgauge.now

/** Calls with the coroutine stub: one coroutine per call in flight, on the default dispatcher. */
class Client(asked: ClientSettings, workload: Workload) :
    GrpcClient(asked, formatOf(asked.encoding, workload), ManagedChannels(asked, NettyChannels()::to)) {
    private val method = methodOf(workload, format)
    private val stub = channel?.let(method::stub)

    override fun callOnce(request: Any, record: Record): Any = runBlocking { call(request, record) }

    override fun run(tally: Tally) = runBlocking(Dispatchers.Default) {
        repeat(asked.inFlight) {
            launch {
                while (true) {
                    val next = tally.next() ?: break
                    try {
                        call(requests.next(), next.record)
                        next.done()
                    } catch (error: Exception) {
                        next.failed(error)
                    }
                }
            }
        }
    }

    private suspend fun call(request: Any, record: Record): Any {
        if (stub != null) return call(stub, request, record)
        val (channel, close) = perCall()
        try {
            return call(method.stub(channel), request, record)
        } finally {
            close()
        }
    }

    private suspend fun call(stub: AbstractStub<*>, request: Any, record: Record): Any =
        method.call(stub.forCall(record), request).also { record.end = now() }
}
