package rpcgauge.clients

import rpcgauge.grpcjava.GRPC_JAVA
import rpcgauge.grpckotlin.GRPC_KOTLIN
import rpcgauge.jdkhttp.JDK_HTTP
import rpcgauge.springclient.REST_CLIENT
import rpcgauge.springclient.WEB_CLIENT

fun main(args: Array<String>) = rpcgauge.main(args, GRPC_JAVA, GRPC_KOTLIN, JDK_HTTP, REST_CLIENT, WEB_CLIENT)
