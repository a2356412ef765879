package rpcgauge.grpcjava

import rpcgauge.Format
import rpcgauge.Server
import rpcgauge.ServerSettings
import rpcgauge.Settings
import rpcgauge.Workload
import rpcgauge.grpc.formatOf
import rpcgauge.grpc.serviceOf
import rpcgauge.grpcnetty.NettyServer
import rpcgauge.msgpack.Msgpack

fun serve(asked: ServerSettings, workload: Workload): Server =
    NettyServer(asked, serviceOf(asked, workload, format(asked, workload)))

internal fun format(asked: Settings, workload: Workload): Format =
    if (asked.encoding == "msgpack") Msgpack(workload) else formatOf(asked.encoding, workload)
