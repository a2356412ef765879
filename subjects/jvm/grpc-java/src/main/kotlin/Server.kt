package rpcgauge.grpcjava

import rpcgauge.Format
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Settings
import rpcgauge.Workload
import rpcgauge.grpc.Unary
import rpcgauge.grpc.formatOf
import rpcgauge.grpc.methodOf
import rpcgauge.grpcnetty.NettyServer
import rpcgauge.msgpack.Msgpack

fun serve(asked: ServerSettings, workload: Workload): Server {
    val format = format(asked, workload)
    val unary = Unary(asked, format.handler())
    return NettyServer(asked, methodOf(workload, format).service(unary))
}

internal fun format(asked: Settings, workload: Workload): Format =
    if (asked.encoding == "msgpack") Msgpack(workload) else formatOf(asked.encoding, workload)
