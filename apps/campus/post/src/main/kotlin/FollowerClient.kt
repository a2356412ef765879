package campus.post

import campus.contract.Followers
import campus.contract.InnerPaths
import campus.contract.grpc.GetFollowerRequest
import campus.contract.grpc.GetFollowerResponse
import campus.contract.grpc.GetFollowerServiceGrpc.GetFollowerServiceBlockingStub
import campus.contract.grpc.GetFollowerServiceGrpcKt.GetFollowerServiceCoroutineStub
import campus.service.Refused
import io.grpc.StatusException
import io.grpc.StatusRuntimeException
import io.micrometer.core.instrument.DistributionSummary
import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Timer
import java.time.Duration
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.runBlocking
import org.springframework.http.HttpStatus
import org.springframework.web.client.RestClient
import org.springframework.web.client.RestClientException
import org.springframework.web.client.body
import tools.jackson.databind.json.JsonMapper

/** The ids of a member's followers, and the bytes of the message that they came in. */
class Fetched(val followers: List<Long>, val payloadBytes: Int)

/** One way to ask the follow service. */
fun interface FollowerCall {
    fun fetch(member: Long): Fetched
}

/** The inner call, with its metrics, which are the same for each way. */
class FollowerClient(private val call: FollowerCall, registry: MeterRegistry) {
    private val timer = Timer.builder("fetch.follower.timer")
        .description("A call to the follow service, from the request's start until its response is decoded")
        .register(registry)
    private val payload = DistributionSummary.builder("fetch.follower.payload")
        .description("A response of the follow service, without headers and frames")
        .baseUnit("bytes")
        .register(registry)

    fun of(member: Long): List<Long> {
        val fetched = checkNotNull(timer.recordCallable { call.fetch(member) })
        payload.record(fetched.payloadBytes.toDouble())
        return fetched.followers
    }
}

class RestFollowers(private val client: RestClient, private val json: JsonMapper) : FollowerCall {
    override fun fetch(member: Long): Fetched {
        val body = try {
            checkNotNull(client.get().uri(InnerPaths.FOLLOWERS, member).retrieve().body<ByteArray>())
        } catch (error: RestClientException) {
            throw unavailable(error)
        }
        return Fetched(json.readValue(body, Followers::class.java).userId, body.size)
    }
}

class GrpcFollowers(private val stub: GetFollowerServiceBlockingStub, private val deadline: Duration) : FollowerCall {
    override fun fetch(member: Long): Fetched = try {
        fetched(stub.withDeadlineAfter(deadline.toMillis(), TimeUnit.MILLISECONDS).getFollowerCall(request(member)))
    } catch (error: StatusRuntimeException) {
        throw unavailable(error)
    }
}

/** The thread of the request waits for the coroutine, as what comes after it blocks. */
class CoroutineFollowers(
    private val stub: GetFollowerServiceCoroutineStub,
    private val deadline: Duration,
) : FollowerCall {
    override fun fetch(member: Long): Fetched = try {
        val withDeadline = stub.withDeadlineAfter(deadline.toMillis(), TimeUnit.MILLISECONDS)
        fetched(runBlocking { withDeadline.getFollowerCall(request(member)) })
    } catch (error: StatusException) {
        throw unavailable(error)
    }
}

private fun request(member: Long): GetFollowerRequest = GetFollowerRequest.newBuilder().setUserId(member).build()

private fun fetched(response: GetFollowerResponse) = Fetched(response.userIdList, response.serializedSize)

private fun unavailable(error: Exception) =
    Refused(HttpStatus.SERVICE_UNAVAILABLE, "the follow service did not answer: ${error.message}", error)
