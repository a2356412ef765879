package rpcgauge.grpckotlin

import rpcgauge.Form
import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(args, GRPC_KOTLIN)

val GRPC_KOTLIN = Stack(
    name = "grpc-kotlin",
    protocols = mapOf("grpc" to listOf("2")),
    encodings = listOf("protobuf", "hybrid"),
    styles = listOf("coroutine"),
    connections = listOf("reuse", "per-call"),
    streams = Form.GRPC,
    serve = ::serve,
    call = ::call,
)
