package campus.post

import campus.contract.CallSettings
import campus.contract.Way
import campus.contract.grpc.GetFollowerServiceGrpc
import campus.contract.grpc.GetFollowerServiceGrpcKt.GetFollowerServiceCoroutineStub
import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.binder.httpcomponents.hc5.PoolingHttpClientConnectionManagerMetricsBinder
import org.apache.hc.client5.http.config.ConnectionConfig
import org.apache.hc.client5.http.impl.classic.HttpClients
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder
import org.apache.hc.core5.util.TimeValue
import org.apache.hc.core5.util.Timeout
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.grpc.client.GrpcChannelFactory
import org.springframework.http.client.HttpComponentsClientHttpRequestFactory
import org.springframework.web.client.RestClient
import tools.jackson.databind.json.JsonMapper

/** The way of the setting; clients of the others are not there. */
@Configuration(proxyBeanMethods = false)
class Calls(private val settings: CallSettings, private val registry: MeterRegistry) {
    @Bean
    fun followerClient(rest: RestClient.Builder, channels: GrpcChannelFactory, json: JsonMapper): FollowerClient {
        val channel = { channels.createChannel(settings.grpc) }
        val deadline = settings.deadline
        val call = when (settings.calls) {
            Way.REST, Way.REST_UNPOOLED ->
                RestFollowers(rest.baseUrl(settings.http).requestFactory(http()).build(), json)
            Way.GRPC -> GrpcFollowers(GetFollowerServiceGrpc.newBlockingStub(channel()), deadline)
            Way.GRPC_COROUTINE -> CoroutineFollowers(GetFollowerServiceCoroutineStub(channel()), deadline)
        }
        return FollowerClient(call, registry)
    }

    private fun http(): HttpComponentsClientHttpRequestFactory {
        val deadline = Timeout.of(settings.deadline)
        val client = HttpClients.custom()
            .setConnectionManager(pool(deadline))
            .evictIdleConnections(TimeValue.of(settings.idle))
            .disableAutomaticRetries()
        if (settings.calls == Way.REST_UNPOOLED) client.setConnectionReuseStrategy { _, _, _ -> false }
        return HttpComponentsClientHttpRequestFactory(client.build()).apply { setReadTimeout(settings.deadline) }
    }

    private fun pool(deadline: Timeout): PoolingHttpClientConnectionManager {
        val pool = PoolingHttpClientConnectionManagerBuilder.create()
            .setMaxConnTotal(settings.connections)
            .setMaxConnPerRoute(settings.connections)
            .setDefaultConnectionConfig(ConnectionConfig.custom().setConnectTimeout(deadline).build())
            .build()
        PoolingHttpClientConnectionManagerMetricsBinder(pool, "follow").bindTo(registry)
        return pool
    }
}
