package rpcgauge.grpc

import io.grpc.Channel
import io.grpc.stub.AbstractStub
import rpcgauge.Blocking
import rpcgauge.ClientSettings
import rpcgauge.Format
import rpcgauge.Overlapping
import rpcgauge.Record
import rpcgauge.now

/** Code shared by the clients that use the stubs of protoc-gen-grpc-java. */
abstract class StubClient(
    asked: ClientSettings,
    format: Format,
    channels: Channels,
    private val blockingStubs: (Channel) -> AbstractStub<*>,
    private val overlappingStubs: (Channel) -> AbstractStub<*>,
) : GrpcClient(asked, format, channels) {
    protected val isBlocking: Boolean = asked.style == null || asked.style == "blocking"
    private val blockingStub = channel?.let(blockingStubs)
    private val overlappingStub = channel?.let(overlappingStubs)
    protected val blocking = Blocking(if (isBlocking) asked.inFlight else 1)
    protected val overlapping = Overlapping(asked.inFlight)

    /** Makes a call that returns when it has ended. */
    internal inline fun <T> block(record: Record, make: (AbstractStub<*>) -> T): T {
        if (blockingStub != null) return make(blockingStub.forCall(record))
        val (channel, close) = perCall()
        try {
            return make(blockingStubs(channel).forCall(record))
        } finally {
            close()
        }
    }

    /** Makes a call that reports its end. */
    protected fun overlap(record: Record, end: (Throwable?) -> Unit, make: (AbstractStub<*>, (Throwable?) -> Unit) -> Unit) {
        if (overlappingStub != null) {
            return make(overlappingStub.forCall(record)) { error ->
                record.end = now()
                end(error)
            }
        }
        val (channel, close) = perCall()
        make(overlappingStubs(channel).forCall(record)) { error ->
            close()
            record.end = now()
            end(error)
        }
    }
}
