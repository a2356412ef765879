package rpcgauge.grpc

import com.google.common.util.concurrent.ListenableFuture
import com.google.protobuf.StringValue
import io.grpc.BindableService
import io.grpc.CallOptions
import io.grpc.Channel
import io.grpc.MethodDescriptor
import io.grpc.ServerServiceDefinition
import io.grpc.protobuf.ProtoUtils
import io.grpc.stub.AbstractStub
import io.grpc.stub.ClientCalls
import io.grpc.stub.ServerCalls
import io.grpc.stub.StreamObserver
import java.io.ByteArrayInputStream
import java.io.InputStream
import rpcgauge.Format
import rpcgauge.Protobuf
import rpcgauge.Sample
import rpcgauge.Workload
import rpcgauge.jackson.Hybrid

/** A method with the code of protoc-gen-grpc-java, which the generator ties to it, or one by hand. */
interface GrpcMethod {
    fun service(unary: Unary): BindableService

    fun blockingStub(channel: Channel): AbstractStub<*>

    fun blocking(stub: AbstractStub<*>, request: Any): Any

    fun futureStub(channel: Channel): AbstractStub<*>

    fun future(stub: AbstractStub<*>, request: Any): ListenableFuture<*>

    fun asyncStub(channel: Channel): AbstractStub<*>

    fun async(stub: AbstractStub<*>, request: Any, observer: StreamObserver<Any>)
}

/** The format of an encoding that generated stubs or protobuf's StringValue carry. */
fun formatOf(encoding: String, workload: Workload): Format =
    if (encoding == "hybrid") Hybrid(workload) else Protobuf(workload)

/** The workload's method for messages in a format. */
fun methodOf(workload: Workload, format: Format): GrpcMethod {
    if (format !is Protobuf) return ByHand(methodByHand(workload, format))
    readExtensions(workload)
    return workload.method.binding("grpc-java")
}

/** Has the generated stubs read extensions as such: by default the library leaves them unknown. */
fun readExtensions(workload: Workload) = ProtoUtils.setExtensionRegistry(workload.method.extensions)

/** A method whose messages are in a format that protoc has no code for. */
fun methodByHand(workload: Workload, format: Format): MethodDescriptor<Any, Any> {
    val marshaller = { sample: Sample ->
        if (format is Hybrid) HybridMarshaller(format, sample) else BytesMarshaller(format, sample)
    }
    return MethodDescriptor.newBuilder<Any, Any>()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(workload.method.path.removePrefix("/"))
        .setRequestMarshaller(marshaller(Sample.REQUEST))
        .setResponseMarshaller(marshaller(Sample.RESPONSE))
        .build()
}

/** The library knows the length of this kind of stream. */
private class BytesMarshaller(private val format: Format, private val sample: Sample) : MethodDescriptor.Marshaller<Any> {
    override fun stream(value: Any): InputStream = ByteArrayInputStream(format.encode(value))

    override fun parse(stream: InputStream): Any = format.decode(stream.readAllBytes(), sample)
}

/** JSON in protobuf's StringValue. */
private class HybridMarshaller(private val hybrid: Hybrid, private val sample: Sample) : MethodDescriptor.Marshaller<Any> {
    private val wrapped = ProtoUtils.marshaller(StringValue.getDefaultInstance())

    override fun stream(value: Any): InputStream = wrapped.stream(hybrid.wrap(value))

    override fun parse(stream: InputStream): Any = hybrid.unwrap(wrapped.parse(stream), sample)
}

/** What protoc-gen-grpc-java writes for its own messages. */
private class ByHand(private val method: MethodDescriptor<Any, Any>) : GrpcMethod {
    private class Stub(channel: Channel, options: CallOptions) : AbstractStub<Stub>(channel, options) {
        override fun build(channel: Channel, options: CallOptions) = Stub(channel, options)
    }

    override fun service(unary: Unary) = BindableService {
        ServerServiceDefinition.builder(checkNotNull(method.serviceName))
            .addMethod(method, ServerCalls.asyncUnaryCall { request, observer -> unary.call(request, observer) })
            .build()
    }

    override fun blockingStub(channel: Channel) = stub(channel)

    override fun futureStub(channel: Channel) = stub(channel)

    override fun asyncStub(channel: Channel) = stub(channel)

    private fun stub(channel: Channel): AbstractStub<*> = Stub(channel, CallOptions.DEFAULT)

    override fun blocking(stub: AbstractStub<*>, request: Any): Any =
        ClientCalls.blockingUnaryCall(stub.channel, method, stub.callOptions, request)

    override fun future(stub: AbstractStub<*>, request: Any): ListenableFuture<*> =
        ClientCalls.futureUnaryCall(stub.channel.newCall(method, stub.callOptions), request)

    override fun async(stub: AbstractStub<*>, request: Any, observer: StreamObserver<Any>) =
        ClientCalls.asyncUnaryCall(stub.channel.newCall(method, stub.callOptions), request, observer)
}
