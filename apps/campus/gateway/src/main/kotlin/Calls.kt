package campus.gateway

import campus.contract.grpc.GetMemberProfileServiceGrpc
import campus.contract.grpc.GetMemberProfileServiceGrpcKt.GetMemberProfileServiceCoroutineStub
import io.micrometer.core.instrument.MeterRegistry
import java.time.Duration
import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.grpc.client.GrpcChannelFactory
import org.springframework.http.client.reactive.ReactorClientHttpConnector
import org.springframework.web.reactive.function.client.WebClient
import reactor.netty.http.client.HttpClient
import reactor.netty.resources.ConnectionProvider
import tools.jackson.databind.json.JsonMapper

enum class Way { REST, REST_UNPOOLED, GRPC, GRPC_COROUTINE }

@ConfigurationProperties("campus.inner-calls")
data class CallSettings(
    val calls: Way,
    /** Where the user service is, by HTTP and by gRPC. */
    val http: String,
    val grpc: String,
    val deadline: Duration,
    /** Connections that REST keeps. */
    val connections: Int,
)

/** The way of the setting; clients of the others are not there. */
@Configuration(proxyBeanMethods = false)
class Calls(private val settings: CallSettings) {
    @Bean
    fun profileClient(web: WebClient.Builder, channels: GrpcChannelFactory, json: JsonMapper, registry: MeterRegistry): ProfileClient {
        val call = when (settings.calls) {
            Way.REST -> RestProfiles(web.baseUrl(settings.http).clientConnector(http(pool())).build(), json)
            Way.REST_UNPOOLED -> RestProfiles(web.baseUrl(settings.http).clientConnector(http(ConnectionProvider.newConnection())).build(), json)
            Way.GRPC -> GrpcProfiles(GetMemberProfileServiceGrpc.newFutureStub(channels.createChannel(settings.grpc)), settings.deadline)
            Way.GRPC_COROUTINE -> CoroutineProfiles(GetMemberProfileServiceCoroutineStub(channels.createChannel(settings.grpc)), settings.deadline)
        }
        return ProfileClient(call, registry)
    }

    private fun http(connections: ConnectionProvider) =
        ReactorClientHttpConnector(HttpClient.create(connections).responseTimeout(settings.deadline))

    private fun pool(): ConnectionProvider = ConnectionProvider.builder("inner")
        .maxConnections(settings.connections)
        .pendingAcquireTimeout(settings.deadline)
        .maxIdleTime(IDLE)
        .metrics(true)
        .build()

    private companion object {
        /** Shorter than the server keeps a connection without use, so that none is closed under a request. */
        val IDLE: Duration = Duration.ofSeconds(30)
    }
}
