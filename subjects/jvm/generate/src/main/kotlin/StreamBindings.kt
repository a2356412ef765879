package rpcgauge.generate

import com.google.protobuf.Descriptors.MethodDescriptor

/** Which sides of a method stream, as in files.json; null if it is unary. */
fun form(method: MethodDescriptor): String? = when {
    method.isClientStreaming && method.isServerStreaming -> "bidirectional"
    method.isClientStreaming -> "client"
    method.isServerStreaming -> "server"
    else -> null
}

/** Java code that binds the stubs of a method that streams to rpcgauge.grpc.StreamMethod. */
fun grpcJavaStream(method: MethodDescriptor, number: Int): Binding {
    val name = "GrpcJava$number"
    val grpc = grpcJavaClass(method)
    val members = if (method.isClientStreaming) clientStreams(method) else serverStreams(method)
    return Binding("$BOUND.$name", """
        |package $BOUND;
        |
        |import io.grpc.BindableService;
        |import io.grpc.Channel;
        |import io.grpc.stub.AbstractStub;
        |import io.grpc.stub.BlockingClientCall;
        |import io.grpc.stub.StreamObserver;
        |
        |@SuppressWarnings("unchecked")
        |public final class $name implements rpcgauge.grpc.StreamMethod {
        |  @Override public AbstractStub<?> asyncStub(Channel channel) {
        |    return $grpc.newStub(channel);
        |  }
        |$members
        |}
        |
    """.trimMargin())
}

private fun serverStreams(method: MethodDescriptor): String {
    val grpc = grpcJavaClass(method)
    val service = method.service.name
    val call = javaMethod(method.name)
    val request = javaName(method.inputType)
    val response = javaName(method.outputType)
    return """
        |  @Override public BindableService service(rpcgauge.grpc.Streaming streaming) {
        |    return new $grpc.${service}ImplBase() {
        |      @Override public void $call($request request, StreamObserver<$response> observer) {
        |        streaming.respond(request, observer);
        |      }
        |    };
        |  }
        |  @Override public void async(AbstractStub<?> stub, Object request, StreamObserver<Object> observer) {
        |    (($grpc.${service}Stub) stub).$call(($request) request, (StreamObserver<$response>) (StreamObserver<?>) observer);
        |  }
        |  @Override public AbstractStub<?> blockingStub(Channel channel) {
        |    return $grpc.newBlockingStub(channel);
        |  }
        |  @Override public java.util.Iterator<?> blocking(AbstractStub<?> stub, Object request) {
        |    return (($grpc.${service}BlockingStub) stub).$call(($request) request);
        |  }
    """.trimMargin()
}

private fun clientStreams(method: MethodDescriptor): String {
    val grpc = grpcJavaClass(method)
    val service = method.service.name
    val call = javaMethod(method.name)
    val request = javaName(method.inputType)
    val response = javaName(method.outputType)
    return """
        |  @Override public BindableService service(rpcgauge.grpc.Streaming streaming) {
        |    return new $grpc.${service}ImplBase() {
        |      @Override public StreamObserver<$request> $call(StreamObserver<$response> observer) {
        |        return (StreamObserver<$request>) (StreamObserver<?>) streaming.receive(observer);
        |      }
        |    };
        |  }
        |  @Override public void async(AbstractStub<?> stub, StreamObserver<Object> observer) {
        |    (($grpc.${service}Stub) stub).$call((StreamObserver<$response>) (StreamObserver<?>) observer);
        |  }
        |  @Override public AbstractStub<?> blockingStub(Channel channel) {
        |    return $grpc.newBlockingV2Stub(channel);
        |  }
        |  @Override public BlockingClientCall<Object, Object> blocking(AbstractStub<?> stub) {
        |    return (BlockingClientCall<Object, Object>) (BlockingClientCall<?, ?>) (($grpc.${service}BlockingV2Stub) stub).$call();
        |  }
    """.trimMargin()
}

/** Kotlin code that binds the stub of a method that streams to rpcgauge.grpckotlin.FlowMethod. */
fun grpcKotlinStream(method: MethodDescriptor, number: Int): Binding {
    val name = "GrpcKotlin$number"
    val grpc = grpcKotlinClass(method)
    val service = method.service.name
    val call = kotlinMethod(method)
    val request = kotlinName(method.inputType)
    val response = kotlinName(method.outputType)
    val requests = "kotlinx.coroutines.flow.Flow<$request>"
    val responses = "kotlinx.coroutines.flow.Flow<$response>"
    val (served, called) = when (form(method)) {
        "server" -> """
            |            override fun $call(request: $request): $responses = flows.respond(request) as $responses
        """ to """
            |    override fun server(stub: io.grpc.stub.AbstractStub<*>, request: Any): kotlinx.coroutines.flow.Flow<Any> =
            |        (stub as $grpc.`${service}CoroutineStub`).$call(request as $request)
        """
        "client" -> """
            |            override suspend fun $call(requests: $requests): $response = flows.gather(requests) as $response
        """ to """
            |    override suspend fun client(stub: io.grpc.stub.AbstractStub<*>, requests: kotlinx.coroutines.flow.Flow<Any>): Any =
            |        (stub as $grpc.`${service}CoroutineStub`).$call(requests as $requests)
        """
        else -> """
            |            override fun $call(requests: $requests): $responses = flows.exchange(requests) as $responses
        """ to """
            |    override fun bidirectional(
            |        stub: io.grpc.stub.AbstractStub<*>, requests: kotlinx.coroutines.flow.Flow<Any>,
            |    ): kotlinx.coroutines.flow.Flow<Any> =
            |        (stub as $grpc.`${service}CoroutineStub`).$call(requests as $requests)
        """
    }
    return Binding("$BOUND.$name", """
        |package $BOUND
        |
        |@Suppress("UNCHECKED_CAST")
        |class $name : rpcgauge.grpckotlin.FlowMethod {
        |    override fun service(flows: rpcgauge.grpckotlin.Flows): io.grpc.BindableService =
        |        object : $grpc.`${service}CoroutineImplBase`() {
        |${served.trimMargin()}
        |        }
        |
        |    override fun stub(channel: io.grpc.Channel): io.grpc.stub.AbstractStub<*> =
        |        $grpc.`${service}CoroutineStub`(channel)
        |
        |${called.trimMargin()}
        |}
        |
    """.trimMargin())
}
