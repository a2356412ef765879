package rpcgauge.springclient

import java.net.http.HttpClient
import java.time.Duration
import org.springframework.http.MediaType
import org.springframework.http.ResponseEntity
import org.springframework.http.client.JdkClientHttpRequestFactory
import org.springframework.http.converter.json.JacksonJsonHttpMessageConverter
import org.springframework.web.client.RestClient
import rpcgauge.Blocking
import rpcgauge.ClientSettings
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.jackson.jsonMapper

/** Calls with Spring's RestClient, which uses the JDK's HttpClient if no other is available. */
class Rest(asked: ClientSettings, workload: Workload) : Spring(asked, workload) {
    private val client = RestClient.builder()
        .requestFactory(factory())
        .configureMessageConverters { it.withJsonConverter(JacksonJsonHttpMessageConverter(jsonMapper())) }
        .build()
    private val blocking = Blocking(asked.inFlight)

    private fun factory(): JdkClientHttpRequestFactory {
        // The server is on this host, so proxies from the environment must be ignored.
        val jdk = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).proxy(HttpClient.Builder.NO_PROXY).build()
        return JdkClientHttpRequestFactory(jdk).apply { setReadTimeout(Duration.ofMillis(asked.deadlineMs)) }
    }

    override fun callOnce(request: Any): ResponseEntity<out Any> = client.post()
        .uri(uri)
        .contentType(MediaType.APPLICATION_JSON)
        .accept(MediaType.APPLICATION_JSON)
        .body(request)
        .retrieve()
        .toEntity(type)

    override fun run(tally: Tally) = blocking.run(tally) { ended(callOnce(requests.next()), it) }
}
