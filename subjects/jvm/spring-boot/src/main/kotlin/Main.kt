package rpcgauge.springboot

import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(
    args,
    Stack(
        name = "spring-boot-grpc",
        protocols = mapOf("grpc" to listOf("2")),
        encodings = listOf("protobuf"),
        serve = ::SpringServer,
    ),
    Stack(
        name = "spring-boot-mvc",
        protocols = mapOf("rest" to listOf("1.1")),
        encodings = listOf("json"),
        serve = ::SpringServer,
    ),
)
