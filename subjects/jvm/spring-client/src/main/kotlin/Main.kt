package rpcgauge.springclient

import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(args, REST_CLIENT, WEB_CLIENT)

val REST_CLIENT = Stack(
    name = "rest-client",
    protocols = mapOf("rest" to listOf("1.1")),
    encodings = listOf("json"),
    styles = listOf("blocking"),
    boundsMessages = false,
    call = ::Rest,
)

val WEB_CLIENT = Stack(
    name = "web-client",
    protocols = mapOf("rest" to listOf("1.1")),
    encodings = listOf("json"),
    styles = listOf("future", "async"),
    call = ::Web,
)
