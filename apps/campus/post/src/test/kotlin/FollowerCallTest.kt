package campus.post

import campus.contract.Way
import campus.contract.grpc.GetFollowerRequest
import campus.contract.grpc.GetFollowerResponse
import campus.contract.grpc.GetFollowerServiceGrpc
import campus.contract.grpc.GetFollowerServiceGrpcKt.GetFollowerServiceCoroutineStub
import campus.service.Refused
import com.sun.net.httpserver.HttpServer
import io.grpc.ManagedChannelBuilder
import io.grpc.Server
import io.grpc.Status
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import io.grpc.stub.StreamObserver
import io.micrometer.core.instrument.simple.SimpleMeterRegistry
import java.net.InetSocketAddress
import java.time.Duration
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.TestInstance
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.EnumSource
import org.springframework.http.HttpStatus
import org.springframework.web.client.RestClient
import tools.jackson.module.kotlin.jacksonMapperBuilder

private const val HOST = "127.0.0.1"
private const val MEMBER = 7L
private const val BROKEN = 8L
private val FOLLOWERS = listOf(10_001L, 10_002L)
private const val JSON = """{"userId":[10001,10002]}"""

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FollowerCallTest {
    private val rest: HttpServer = HttpServer.create(InetSocketAddress(HOST, 0), 0).apply {
        createContext("/") {
            val isKnown = it.requestURI.path == "/internal/members/$MEMBER/followers"
            it.sendResponseHeaders(if (isKnown) 200 else 500, JSON.length.toLong())
            it.responseBody.use { body -> body.write(JSON.toByteArray()) }
        }
        start()
    }
    private val grpc: Server =
        NettyServerBuilder.forAddress(InetSocketAddress(HOST, 0)).addService(Followers()).build().start()
    private val channel = ManagedChannelBuilder.forAddress(HOST, grpc.port).usePlaintext().build()

    @AfterAll
    fun stop() {
        channel.shutdownNow()
        grpc.shutdownNow()
        rest.stop(0)
    }

    @ParameterizedTest
    @EnumSource(names = ["REST", "GRPC", "GRPC_COROUTINE"])
    fun `each way gives the followers, and counts their bytes and their time`(way: Way) {
        val registry = SimpleMeterRegistry()
        assertEquals(FOLLOWERS, FollowerClient(call(way), registry).of(MEMBER))
        val bytes = if (way == Way.REST) JSON.length else RESPONSE.serializedSize
        assertEquals(bytes.toDouble(), registry.get("fetch.follower.payload").summary().totalAmount())
        assertEquals(1, registry.get("fetch.follower.timer").timer().count())
    }

    @ParameterizedTest
    @EnumSource(names = ["REST", "GRPC", "GRPC_COROUTINE"])
    fun `a follow service that fails makes the feed unavailable`(way: Way) {
        val refused = assertThrows(Refused::class.java) { call(way).fetch(BROKEN) }
        assertEquals(HttpStatus.SERVICE_UNAVAILABLE, refused.status)
    }

    private fun call(way: Way): FollowerCall = when (way) {
        Way.GRPC -> GrpcFollowers(GetFollowerServiceGrpc.newBlockingStub(channel), DEADLINE)
        Way.GRPC_COROUTINE -> CoroutineFollowers(GetFollowerServiceCoroutineStub(channel), DEADLINE)
        else -> RestFollowers(RestClient.create("http://$HOST:${rest.address.port}"), jacksonMapperBuilder().build())
    }

    private class Followers : GetFollowerServiceGrpc.GetFollowerServiceImplBase() {
        override fun getFollowerCall(request: GetFollowerRequest, observer: StreamObserver<GetFollowerResponse>) {
            if (request.userId != MEMBER) return observer.onError(Status.INTERNAL.asException())
            observer.onNext(RESPONSE)
            observer.onCompleted()
        }
    }

    private companion object {
        val DEADLINE: Duration = Duration.ofSeconds(5)
        val RESPONSE: GetFollowerResponse = GetFollowerResponse.newBuilder().addAllUserId(FOLLOWERS).build()
    }
}
