package rpcgauge.grpckotlin

import io.grpc.BindableService
import io.grpc.CallOptions
import io.grpc.Channel
import io.grpc.Metadata
import io.grpc.MethodDescriptor
import io.grpc.ServerServiceDefinition
import io.grpc.kotlin.AbstractCoroutineStub
import io.grpc.kotlin.ClientCalls
import io.grpc.kotlin.ServerCalls
import io.grpc.stub.AbstractStub
import kotlin.coroutines.EmptyCoroutineContext
import rpcgauge.Format
import rpcgauge.Workload
import rpcgauge.grpc.methodByHand
import rpcgauge.grpc.readExtensions
import rpcgauge.jackson.Hybrid

/** A method with the code of protoc-gen-grpc-kotlin, which the generator ties to it, or one by hand. */
interface CoroutineMethod {
    fun service(respond: suspend (Any) -> Any): BindableService

    fun stub(channel: Channel): AbstractStub<*>

    suspend fun call(stub: AbstractStub<*>, request: Any): Any
}

fun methodOf(workload: Workload, format: Format): CoroutineMethod {
    if (format is Hybrid) return ByHand(methodByHand(workload, format))
    readExtensions(workload)
    return workload.method.binding("grpc-kotlin")
}

/** What protoc-gen-grpc-kotlin writes for its own messages. */
private class ByHand(private val method: MethodDescriptor<Any, Any>) : CoroutineMethod {
    private class Stub(channel: Channel, options: CallOptions) : AbstractCoroutineStub<Stub>(channel, options) {
        override fun build(channel: Channel, options: CallOptions) = Stub(channel, options)
    }

    override fun service(respond: suspend (Any) -> Any) = BindableService {
        ServerServiceDefinition.builder(checkNotNull(method.serviceName))
            .addMethod(ServerCalls.unaryServerMethodDefinition(EmptyCoroutineContext, method, respond))
            .build()
    }

    override fun stub(channel: Channel): AbstractStub<*> = Stub(channel, CallOptions.DEFAULT)

    override suspend fun call(stub: AbstractStub<*>, request: Any): Any =
        ClientCalls.unaryRpc(stub.channel, method, request, stub.callOptions, Metadata())
}
