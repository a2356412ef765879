package rpcgauge.armeria

import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(
    args,
    Stack(
        name = "armeria-grpc",
        protocols = mapOf("grpc" to listOf("2")),
        encodings = listOf("protobuf"),
        serve = ::ArmeriaServer,
    ),
    Stack(
        name = "armeria-transcoding",
        protocols = mapOf("rest" to listOf("1.1", "2")),
        encodings = listOf("protojson"),
        serve = ::ArmeriaServer,
    ),
)
