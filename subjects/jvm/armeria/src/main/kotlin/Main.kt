package rpcgauge.armeria

import rpcgauge.Form
import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(
    args,
    Stack(
        name = "armeria-grpc",
        protocols = mapOf("grpc" to listOf("2")),
        encodings = listOf("protobuf"),
        styles = listOf("blocking", "future", "async"),
        streams = Form.GRPC,
        streamStyles = listOf("blocking", "async"),
        serve = ::ArmeriaServer,
        call = ::callGrpc,
    ),
    Stack(
        name = "armeria-rest",
        protocols = mapOf("rest" to listOf("1.1", "2")),
        encodings = listOf("json"),
        styles = listOf("blocking", "future"),
        serve = ::ArmeriaServer,
        call = ::RestCaller,
    ),
    Stack(
        name = "armeria-transcoding",
        protocols = mapOf("rest" to listOf("1.1", "2")),
        encodings = listOf("protojson"),
        serve = ::ArmeriaServer,
    ),
)
