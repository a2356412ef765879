package rpcgauge.springclient

import java.time.Duration
import java.util.concurrent.CompletionException
import org.springframework.http.MediaType
import org.springframework.http.ResponseEntity
import org.springframework.http.client.reactive.ReactorClientHttpConnector
import org.springframework.http.codec.json.JacksonJsonDecoder
import org.springframework.http.codec.json.JacksonJsonEncoder
import org.springframework.web.reactive.function.client.WebClient
import reactor.core.publisher.Mono
import reactor.netty.http.client.HttpClient
import reactor.netty.resources.ConnectionProvider
import rpcgauge.ClientSettings
import rpcgauge.Overlapping
import rpcgauge.Tally
import rpcgauge.Workload
import rpcgauge.jackson.jsonMapper

/** Calls with Spring's WebClient on Reactor Netty: its Mono as a future, or with a callback. */
class Web(asked: ClientSettings, workload: Workload) : Spring(asked, workload) {
    private val mapper = jsonMapper()
    private val client = WebClient.builder()
        .clientConnector(ReactorClientHttpConnector(netty()))
        .codecs {
            val codecs = it.defaultCodecs()
            codecs.jacksonJsonEncoder(JacksonJsonEncoder(mapper))
            codecs.jacksonJsonDecoder(JacksonJsonDecoder(mapper))
            codecs.maxInMemorySize(asked.limits.messageBytes)
        }
        .build()
    private val overlapping = Overlapping(asked.inFlight)

    /** A client with a connection for each call in flight. */
    private fun netty(): HttpClient = HttpClient.create(ConnectionProvider.create("calls", asked.inFlight))
        .noProxy()
        .responseTimeout(Duration.ofMillis(asked.deadlineMs))

    private fun call(request: Any): Mono<out ResponseEntity<out Any>> = client.post()
        .uri(uri)
        .contentType(MediaType.APPLICATION_JSON)
        .accept(MediaType.APPLICATION_JSON)
        .bodyValue(request)
        .retrieve()
        .toEntity(type)

    override fun callOnce(request: Any): ResponseEntity<out Any> = checkNotNull(call(request).block())

    override fun run(tally: Tally) = overlapping.run(tally) { record, end ->
        val response = call(requests.next())
        if (asked.style == "async") {
            response.doOnNext { ended(it, record) }.subscribe({ }, end, { end(null) })
        } else {
            response.toFuture()
                .thenAccept { ended(checkNotNull(it), record) }
                .whenComplete { _, error -> end((error as? CompletionException)?.cause ?: error) }
        }
    }
}
