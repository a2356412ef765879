package rpcgauge.grpcjava

import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(args, GRPC_JAVA)

val GRPC_JAVA = Stack(
    name = "grpc-java",
    protocols = mapOf("grpc" to listOf("2")),
    encodings = listOf("protobuf", "hybrid", "msgpack"),
    styles = listOf("blocking", "future", "async"),
    connections = listOf("reuse", "per-call"),
    serve = ::serve,
    call = ::Client,
)
