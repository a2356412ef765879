package rpcgauge.jdkhttp

import rpcgauge.Stack

fun main(args: Array<String>) = rpcgauge.main(args, JDK_HTTP)

val JDK_HTTP = Stack(
    name = "jdk-http",
    protocols = mapOf("rest" to listOf("1.1")),
    encodings = listOf("json", "protojson", "protobuf", "msgpack"),
    styles = listOf("blocking", "future"),
    boundsInflation = true,
    call = ::Client,
)
