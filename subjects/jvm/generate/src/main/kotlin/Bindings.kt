package rpcgauge.generate

import com.google.protobuf.Descriptors.Descriptor
import com.google.protobuf.Descriptors.MethodDescriptor

/** A generated source file, and the class in it that the program looks up. */
class Binding(val className: String, val source: String) {
    val file: String get() = className.substringAfterLast('.')
}

const val BOUND = "$PACKAGE.bound"

/** Java code that binds the method's stubs of protoc-gen-grpc-java. */
fun grpcJava(method: MethodDescriptor, number: Int): Binding =
    if (form(method) == null) grpcJavaUnary(method, number) else grpcJavaStream(method, number)

/** Kotlin code that binds the method's stub of protoc-gen-grpc-kotlin. */
fun grpcKotlin(method: MethodDescriptor, number: Int): Binding =
    if (form(method) == null) grpcKotlinUnary(method, number) else grpcKotlinStream(method, number)

/** Java code that binds the stubs of a unary method to rpcgauge.grpc.GrpcMethod. */
private fun grpcJavaUnary(method: MethodDescriptor, number: Int): Binding {
    val name = "GrpcJava$number"
    val grpc = grpcJavaClass(method)
    val service = method.service.name
    val call = javaMethod(method.name)
    val request = javaName(method.inputType)
    val response = javaName(method.outputType)
    return Binding("$BOUND.$name", """
        |package $BOUND;
        |
        |import io.grpc.BindableService;
        |import io.grpc.Channel;
        |import io.grpc.stub.AbstractStub;
        |import io.grpc.stub.StreamObserver;
        |
        |public final class $name implements rpcgauge.grpc.GrpcMethod {
        |  @Override public BindableService service(rpcgauge.grpc.Unary unary) {
        |    return new $grpc.${service}ImplBase() {
        |      @Override public void $call($request request, StreamObserver<$response> observer) {
        |        unary.call(request, observer);
        |      }
        |    };
        |  }
        |  @Override public AbstractStub<?> blockingStub(Channel channel) {
        |    return $grpc.newBlockingStub(channel);
        |  }
        |  @Override public Object blocking(AbstractStub<?> stub, Object request) {
        |    return (($grpc.${service}BlockingStub) stub).$call(($request) request);
        |  }
        |  @Override public AbstractStub<?> futureStub(Channel channel) {
        |    return $grpc.newFutureStub(channel);
        |  }
        |  @Override public com.google.common.util.concurrent.ListenableFuture<?> future(AbstractStub<?> stub, Object request) {
        |    return (($grpc.${service}FutureStub) stub).$call(($request) request);
        |  }
        |  @Override public AbstractStub<?> asyncStub(Channel channel) {
        |    return $grpc.newStub(channel);
        |  }
        |  @SuppressWarnings("unchecked")
        |  @Override public void async(AbstractStub<?> stub, Object request, StreamObserver<Object> observer) {
        |    (($grpc.${service}Stub) stub).$call(($request) request, (StreamObserver<$response>) (StreamObserver<?>) observer);
        |  }
        |}
        |
    """.trimMargin())
}

/** Kotlin code that binds the stub of a unary method to rpcgauge.grpckotlin.CoroutineMethod. */
private fun grpcKotlinUnary(method: MethodDescriptor, number: Int): Binding {
    val name = "GrpcKotlin$number"
    val grpc = grpcKotlinClass(method)
    val service = method.service.name
    val call = kotlinMethod(method)
    val request = kotlinName(method.inputType)
    return Binding("$BOUND.$name", """
        |package $BOUND
        |
        |class $name : rpcgauge.grpckotlin.CoroutineMethod {
        |    override fun service(respond: suspend (Any) -> Any): io.grpc.BindableService =
        |        object : $grpc.`${service}CoroutineImplBase`() {
        |            override suspend fun $call(request: $request): ${kotlinName(method.outputType)} =
        |                respond(request) as ${kotlinName(method.outputType)}
        |        }
        |
        |    override fun stub(channel: io.grpc.Channel): io.grpc.stub.AbstractStub<*> =
        |        $grpc.`${service}CoroutineStub`(channel)
        |
        |    override suspend fun call(stub: io.grpc.stub.AbstractStub<*>, request: Any): Any =
        |        (stub as $grpc.`${service}CoroutineStub`).$call(request as $request)
        |}
        |
    """.trimMargin())
}

/** A Spring MVC controller with the data classes of a method. The path is in the program's settings. */
fun springMvc(number: Int, request: String, response: String): Binding {
    val name = "SpringMvc$number"
    return Binding("$BOUND.$name", """
        |package $BOUND;
        |
        |@org.springframework.web.bind.annotation.RestController
        |public class $name {
        |  private final rpcgauge.spring.Mvc mvc;
        |  public $name(rpcgauge.spring.Mvc mvc) {
        |    this.mvc = mvc;
        |  }
        |  @org.springframework.web.bind.annotation.PostMapping("${'$'}{rpcgauge.path}")
        |  public $response call(
        |      @org.springframework.web.bind.annotation.RequestBody $request request,
        |      jakarta.servlet.http.HttpServletResponse response) {
        |    return ($response) mvc.respond(request, response);
        |  }
        |}
        |
    """.trimMargin())
}

/** An annotated Armeria service with the data classes of a method. The path is in the program's settings. */
fun armeriaRest(number: Int, request: String, response: String): Binding {
    val name = "ArmeriaRest$number"
    return Binding("$BOUND.$name", """
        |package $BOUND;
        |
        |public final class $name {
        |  private final rpcgauge.armeria.Rest rest;
        |  public $name(rpcgauge.armeria.Rest rest) {
        |    this.rest = rest;
        |  }
        |  @com.linecorp.armeria.server.annotation.Post
        |  @com.linecorp.armeria.server.annotation.ConsumesJson
        |  @com.linecorp.armeria.server.annotation.ProducesJson
        |  public $response call($request request, com.linecorp.armeria.server.ServiceRequestContext context) {
        |    return ($response) rest.respond(request, context);
        |  }
        |}
        |
    """.trimMargin())
}

/** The class of protoc-gen-grpc-java that contains the stubs of the method's service. */
internal fun grpcJavaClass(method: MethodDescriptor) = "${method.file.options.javaPackage}.${method.service.name}Grpc"

/** The object of protoc-gen-grpc-kotlin that contains the stub of the method's service. */
internal fun grpcKotlinClass(method: MethodDescriptor) =
    "${kotlinName(method.file.options.javaPackage)}.`${method.service.name}GrpcKt`"

internal fun kotlinMethod(method: MethodDescriptor) = quoted(method.name.replaceFirstChar { it.lowercaseChar() })

internal fun kotlinName(message: Descriptor) = kotlinName(javaName(message))

private fun kotlinName(name: String) = name.split('.').joinToString(".", transform = ::quoted)

private val KEYWORDS = (
    "abstract assert boolean break byte case catch char class const continue default do double else enum extends " +
        "final finally float for goto if implements import instanceof int interface long native new package private " +
        "protected public return short static strictfp super switch synchronized this throw throws transient try " +
        "void volatile while true false"
    ).split(' ').toSet()

/** A method's name as generated by protoc-gen-grpc-java: without underscores, except for one after a keyword. */
fun javaMethod(name: String): String {
    val words = name.replaceFirstChar { it.lowercaseChar() }.split('_')
    val joined = words[0] + words.drop(1).joinToString("") { word -> word.replaceFirstChar { it.uppercaseChar() } }
    return if (joined in KEYWORDS) "${joined}_" else joined
}
