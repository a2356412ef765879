package rpcgauge.codecs

import rpcgauge.Codec
import rpcgauge.Format
import rpcgauge.ProtoJson
import rpcgauge.Protobuf
import rpcgauge.Stack
import rpcgauge.Workload
import rpcgauge.jackson.Hybrid
import rpcgauge.jackson.Json
import rpcgauge.msgpack.Json2
import rpcgauge.msgpack.Msgpack

fun main(args: Array<String>) = rpcgauge.main(
    args,
    codec("protobuf", "protobuf", ::Protobuf),
    codec("protojson", "protojson", ::ProtoJson),
    codec("jackson", "json", ::Json),
    codec("jackson2", "json", ::Json2),
    codec("hybrid", "hybrid", ::Hybrid),
    codec("msgpack", "msgpack", ::Msgpack),
)

private fun codec(name: String, encoding: String, format: (Workload) -> Format) = Stack(
    name = name,
    encodings = listOf(encoding),
    boundsInflation = true,
    code = { asked, workload -> Codec(asked, format(workload)) },
)
