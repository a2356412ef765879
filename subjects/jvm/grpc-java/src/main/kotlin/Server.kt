package rpcgauge.grpcjava

import rpcgauge.Protobuf
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Workload
import rpcgauge.grpc.Unary
import rpcgauge.grpc.methodOf
import rpcgauge.grpcnetty.NettyServer
import rpcgauge.jackson.Hybrid

fun serve(asked: ServerSettings, workload: Workload): Server {
    val format = if (asked.encoding == "hybrid") Hybrid(workload) else Protobuf(workload)
    val unary = Unary(asked, format.handler())
    return NettyServer(asked, methodOf(workload, asked.encoding).service(unary), format.isGenerated)
}
