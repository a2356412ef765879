package rpcgauge.grpckotlin

import io.grpc.Channel
import io.grpc.stub.AbstractStub
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Format
import rpcgauge.Record
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.grpc.GrpcClient
import rpcgauge.grpc.ManagedChannels
import rpcgauge.grpc.formatOf
import rpcgauge.grpcnetty.NettyChannels

fun call(asked: ClientSettings, workload: Workload): Caller {
    val format = formatOf(asked.encoding, workload)
    return if (asked.calling.stream == null) UnaryClient(asked, format, methodOf(workload, format))
    else FlowClient(asked, format, flowMethodOf(workload, format))
}

/** Calls with the coroutine stub: one coroutine per call in flight, on the default dispatcher. */
abstract class CoroutineClient(asked: ClientSettings, format: Format, private val stubs: (Channel) -> AbstractStub<*>) :
    GrpcClient(asked, format, ManagedChannels(asked, NettyChannels()::to)) {
    private val stub = channel?.let(stubs)

    /** Makes a recorded call; its result is not used. */
    protected abstract suspend fun call(record: Record): Any

    override fun run(tally: Tally) = runBlocking(Dispatchers.Default) {
        repeat(asked.inFlight) {
            launch {
                while (true) {
                    val next = tally.next() ?: break
                    try {
                        call(next.record)
                        next.done()
                    } catch (error: Exception) {
                        next.failed(error)
                    }
                }
            }
        }
    }

    /** Makes a call with a stub that all calls share, or with its own. */
    internal suspend inline fun <T> withStub(record: Record, make: suspend (AbstractStub<*>) -> T): T {
        if (stub != null) return make(stub.forCall(record))
        val (channel, close) = perCall()
        try {
            return make(stubs(channel).forCall(record))
        } finally {
            close()
        }
    }
}
