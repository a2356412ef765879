package campus.gateway

import campus.contract.CallSettings
import campus.contract.Way
import campus.contract.grpc.GetMemberProfileServiceGrpc
import campus.contract.grpc.GetMemberProfileServiceGrpcKt.GetMemberProfileServiceCoroutineStub
import io.micrometer.core.instrument.MeterRegistry
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.grpc.client.GrpcChannelFactory
import org.springframework.http.client.reactive.ReactorClientHttpConnector
import org.springframework.web.reactive.function.client.WebClient
import reactor.netty.http.client.HttpClient
import reactor.netty.resources.ConnectionProvider
import tools.jackson.databind.json.JsonMapper

/** The way of the setting; clients of the others are not there. */
@Configuration(proxyBeanMethods = false)
class Calls(private val settings: CallSettings, private val registry: MeterRegistry) {
    @Bean
    fun profileClient(web: WebClient.Builder, channels: GrpcChannelFactory, json: JsonMapper): ProfileClient {
        val channel = { channels.createChannel(settings.grpc) }
        val deadline = settings.deadline
        val call = when (settings.calls) {
            Way.REST -> rest(web, pool(), json)
            Way.REST_UNPOOLED -> rest(web, ConnectionProvider.newConnection(), json)
            Way.GRPC -> GrpcProfiles(GetMemberProfileServiceGrpc.newFutureStub(channel()), deadline)
            Way.GRPC_COROUTINE -> CoroutineProfiles(GetMemberProfileServiceCoroutineStub(channel()), deadline)
        }
        return ProfileClient(call, registry)
    }

    private fun rest(web: WebClient.Builder, connections: ConnectionProvider, json: JsonMapper): ProfileCall {
        val http = HttpClient.create(connections).responseTimeout(settings.deadline)
        return RestProfiles(web.baseUrl(settings.http).clientConnector(ReactorClientHttpConnector(http)).build(), json)
    }

    private fun pool(): ConnectionProvider = ConnectionProvider.builder("inner")
        .maxConnections(settings.connections)
        .pendingAcquireTimeout(settings.deadline)
        .maxIdleTime(settings.idle)
        .metrics(true)
        .build()
}
