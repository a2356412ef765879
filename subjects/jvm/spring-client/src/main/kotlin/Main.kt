package rpcgauge.springclient

import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(
    args,
    Stack(
        name = "rest-client",
        protocols = mapOf("rest" to listOf("1.1")),
        encodings = listOf("json"),
        styles = listOf("blocking"),
        boundsMessages = false,
        call = ::Rest,
    ),
    Stack(
        name = "web-client",
        protocols = mapOf("rest" to listOf("1.1")),
        encodings = listOf("json"),
        styles = listOf("future", "async"),
        call = ::Web,
    ),
)
