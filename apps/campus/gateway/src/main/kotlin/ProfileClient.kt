package campus.gateway

import campus.contract.InnerPaths
import campus.contract.MemberProfile
import campus.contract.grpc.GetMemberProfileRequest
import campus.contract.grpc.GetMemberProfileResponse
import campus.contract.grpc.GetMemberProfileServiceGrpc.GetMemberProfileServiceFutureStub
import campus.contract.grpc.GetMemberProfileServiceGrpcKt.GetMemberProfileServiceCoroutineStub
import com.google.common.util.concurrent.FutureCallback
import com.google.common.util.concurrent.Futures
import com.google.common.util.concurrent.ListenableFuture
import com.google.common.util.concurrent.MoreExecutors.directExecutor
import io.micrometer.core.instrument.DistributionSummary
import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Timer
import java.time.Duration
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.reactor.mono
import org.springframework.web.reactive.function.client.WebClient
import org.springframework.web.reactive.function.client.bodyToMono
import reactor.core.publisher.Mono
import tools.jackson.databind.json.JsonMapper

/** A profile, and the bytes of the message that it came in. */
class Fetched(val profile: MemberProfile, val payloadBytes: Int)

/** One way to ask the user service. */
fun interface ProfileCall {
    fun fetch(member: Long): Mono<Fetched>
}

/** The inner call, with its metrics, which are the same for each way. A tag tells for which request it was. */
class ProfileClient(private val call: ProfileCall, private val registry: MeterRegistry) {
    private val timer = Timer.builder("fetch.member.info.timer")
        .description("A call to the user service, from the request's start until its response is decoded")
        .withRegistry(registry)
    private val payload = DistributionSummary.builder("fetch.member.info.payload")
        .description("A response of the user service, without headers and frames")
        .baseUnit("bytes")
        .withRegistry(registry)

    fun of(member: Long, request: String): Mono<MemberProfile> = Mono.defer {
        val sample = Timer.start(registry)
        val ended = { sample.stop(timer.withTag(TAG, request)) }
        call.fetch(member)
            // Not at the Mono's end: what comes after the call runs before it.
            .doOnNext {
                ended()
                payload.withTag(TAG, request).record(it.payloadBytes.toDouble())
            }
            .doOnError { ended() }
            .map { it.profile }
    }

    private companion object {
        const val TAG = "request"
    }
}

class RestProfiles(private val client: WebClient, private val json: JsonMapper) : ProfileCall {
    override fun fetch(member: Long): Mono<Fetched> = client.get()
        .uri(InnerPaths.PROFILE, member)
        .retrieve()
        .bodyToMono<ByteArray>()
        .map { Fetched(json.readValue(it, MemberProfile::class.java), it.size) }
}

/** The future as a Mono: no thread waits for the response. */
class GrpcProfiles(private val stub: GetMemberProfileServiceFutureStub, private val deadline: Duration) : ProfileCall {
    override fun fetch(member: Long): Mono<Fetched> = Mono.create { sink ->
        val withDeadline = stub.withDeadlineAfter(deadline.toMillis(), TimeUnit.MILLISECONDS)
        val future = withDeadline.getMemberProfileCall(request(member))
        sink.onCancel { future.cancel(true) }
        future.onEnd({ sink.success(fetched(it)) }, sink::error)
    }
}

class CoroutineProfiles(
    private val stub: GetMemberProfileServiceCoroutineStub,
    private val deadline: Duration,
) : ProfileCall {
    override fun fetch(member: Long): Mono<Fetched> = mono {
        val withDeadline = stub.withDeadlineAfter(deadline.toMillis(), TimeUnit.MILLISECONDS)
        fetched(withDeadline.getMemberProfileCall(request(member)))
    }
}

private fun <T : Any> ListenableFuture<T>.onEnd(succeeded: (T) -> Unit, failed: (Throwable) -> Unit) =
    Futures.addCallback(
        this,
        object : FutureCallback<T> {
            override fun onSuccess(result: T) = succeeded(result)

            override fun onFailure(error: Throwable) = failed(error)
        },
        directExecutor(),
    )

private fun request(member: Long): GetMemberProfileRequest =
    GetMemberProfileRequest.newBuilder().setUserId(member).build()

private fun fetched(response: GetMemberProfileResponse): Fetched {
    val info = response.info
    val profile = MemberProfile(info.id, info.email, info.profileImage.ifEmpty { null }, info.nickname)
    return Fetched(profile, response.serializedSize)
}
