package rpcgauge.armeria

import com.linecorp.armeria.client.grpc.GrpcClients
import io.grpc.CallOptions
import io.grpc.Channel
import io.grpc.ClientCall
import io.grpc.MethodDescriptor
import io.grpc.stub.AbstractStub
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Protobuf
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.grpc.Channels
import rpcgauge.grpc.GZIP
import rpcgauge.grpc.StreamClient
import rpcgauge.grpc.StubMethod
import rpcgauge.grpc.UnaryClient
import rpcgauge.grpc.compressors
import rpcgauge.grpc.decompressors
import rpcgauge.grpc.methodOf
import rpcgauge.grpc.streamMethodOf

/** Calls with the stubs of protoc-gen-grpc-java on Armeria's client, which does not expose the times within a call. */
fun callGrpc(asked: ClientSettings, workload: Workload): Caller {
    val format = Protobuf(workload)
    if (asked.calling.stream == null) {
        return UnaryClient(asked, workload, format, ArmeriaChannel(asked, methodOf(workload, format)))
    }
    return StreamClient(asked, workload, format, ArmeriaChannel(asked, streamMethodOf(workload, format)))
}

/** Armeria creates a channel for a class of stubs; all stubs of the method share it. */
private class ArmeriaChannel(asked: ClientSettings, method: StubMethod) : Channels {
    private val connections = Connections(asked)

    override val kept: Channel

    init {
        val builder = GrpcClients.builder(connections.protocol, connections.endpoint)
            .maxResponseMessageLength(asked.limits.messageBytes)
        connections.set(builder)
        val gzip = compressors(asked.requestCompression).lookupCompressor(GZIP)
        if (asked.requestCompression.isGzip) builder.compressor(checkNotNull(gzip))
        decompressors(asked)?.let(builder::decompressorRegistry)
        kept = builder.build(method.asyncStub(NoChannel).javaClass).channel
    }

    override fun perCall() = throw UnsupportedOperationException()

    /** The channel compresses each call. */
    override fun compressing(stub: AbstractStub<*>): AbstractStub<*> = stub

    override fun reopen(run: (Tally) -> Unit): Int = connections.reopen(run)
}

/** Used only to get the class of a stub. */
private object NoChannel : Channel() {
    override fun <Q, R> newCall(method: MethodDescriptor<Q, R>, options: CallOptions): ClientCall<Q, R> =
        throw UnsupportedOperationException()

    override fun authority() = throw UnsupportedOperationException()
}
