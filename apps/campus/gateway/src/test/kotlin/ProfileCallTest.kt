package campus.gateway

import campus.contract.MemberProfile
import campus.contract.Way
import campus.contract.grpc.GetMemberProfileInfo
import campus.contract.grpc.GetMemberProfileRequest
import campus.contract.grpc.GetMemberProfileResponse
import campus.contract.grpc.GetMemberProfileServiceGrpc
import campus.contract.grpc.GetMemberProfileServiceGrpcKt.GetMemberProfileServiceCoroutineStub
import io.grpc.ManagedChannelBuilder
import io.grpc.Server
import io.grpc.Status
import io.grpc.netty.NettyServerBuilder
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
import org.springframework.web.reactive.function.client.WebClient
import reactor.core.Exceptions
import reactor.core.publisher.Mono
import reactor.netty.DisposableServer
import reactor.netty.http.server.HttpServer
import tools.jackson.module.kotlin.jacksonMapperBuilder

private const val HOST = "127.0.0.1"
private const val MEMBER = 7L
private const val NOBODY = 8L
private val PROFILE = MemberProfile(MEMBER, "m7@uni.edu", null, "m7")
private const val JSON = """{"id":7,"email":"m7@uni.edu","nickname":"m7"}"""

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ProfileCallTest {
    private val rest: DisposableServer = HttpServer.create().host(HOST).port(0)
        .route { routes ->
            routes.get("/internal/members/$MEMBER/profile") { _, response ->
                response.header("Content-Type", "application/json").sendString(Mono.just(JSON))
            }
        }
        .bindNow()
    private val grpc: Server =
        NettyServerBuilder.forAddress(InetSocketAddress(HOST, 0)).addService(Profiles()).build().start()
    private val channel = ManagedChannelBuilder.forAddress(HOST, grpc.port).usePlaintext().build()

    @AfterAll
    fun stop() {
        channel.shutdownNow()
        grpc.shutdownNow()
        rest.disposeNow()
    }

    @ParameterizedTest
    @EnumSource(names = ["REST", "GRPC", "GRPC_COROUTINE"])
    fun `each way gives the profile, and counts its bytes and its time`(way: Way) {
        val registry = SimpleMeterRegistry()
        assertEquals(PROFILE, ProfileClient(call(way), registry).of(MEMBER, "search").block())
        val bytes = if (way == Way.REST) JSON.length else response(MEMBER).serializedSize
        val payload = registry.get("fetch.member.info.payload").tags("request", "search").summary()
        assertEquals(bytes.toDouble(), payload.totalAmount())
        assertEquals(1, registry.get("fetch.member.info.timer").tags("request", "search").timer().count())
    }

    @ParameterizedTest
    @EnumSource(names = ["REST", "GRPC", "GRPC_COROUTINE"])
    fun `a member who is gone makes the token invalid`(way: Way) {
        val error = assertThrows(RuntimeException::class.java) { call(way).fetch(NOBODY).block() }
        assertEquals(401, problemOf(Exceptions.unwrap(error)).status)
    }

    private fun call(way: Way): ProfileCall = when (way) {
        Way.GRPC -> GrpcProfiles(GetMemberProfileServiceGrpc.newFutureStub(channel), DEADLINE)
        Way.GRPC_COROUTINE -> CoroutineProfiles(GetMemberProfileServiceCoroutineStub(channel), DEADLINE)
        else -> RestProfiles(WebClient.create("http://$HOST:${rest.port()}"), jacksonMapperBuilder().build())
    }

    private class Profiles : GetMemberProfileServiceGrpc.GetMemberProfileServiceImplBase() {
        override fun getMemberProfileCall(
            request: GetMemberProfileRequest,
            observer: StreamObserver<GetMemberProfileResponse>,
        ) {
            if (request.userId != MEMBER) return observer.onError(Status.NOT_FOUND.asException())
            observer.onNext(response(request.userId))
            observer.onCompleted()
        }
    }

    private companion object {
        val DEADLINE: Duration = Duration.ofSeconds(5)

        fun response(id: Long): GetMemberProfileResponse = GetMemberProfileResponse.newBuilder()
            .setInfo(GetMemberProfileInfo.newBuilder().setId(id).setEmail(PROFILE.email).setNickname(PROFILE.nickname))
            .build()
    }
}
