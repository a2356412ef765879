package rpcgauge.grpcjava

import rpcgauge.Form
import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(args, GRPC_JAVA)

val GRPC_JAVA = Stack(
    name = "grpc-java",
    protocols = mapOf("grpc" to listOf("2")),
    encodings = listOf("protobuf", "hybrid", "msgpack"),
    styles = listOf("blocking", "future", "async"),
    connections = listOf("reuse", "per-call"),
    // The stub that returns futures has only unary calls.
    streams = Form.GRPC,
    streamStyles = listOf("blocking", "async"),
    serve = ::serve,
    call = ::call,
)
