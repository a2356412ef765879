package campus.gateway

import io.grpc.Status
import io.grpc.StatusException
import io.grpc.StatusRuntimeException
import java.io.IOException
import java.util.concurrent.TimeoutException
import org.slf4j.LoggerFactory
import org.springframework.core.annotation.Order
import org.springframework.http.HttpStatus
import org.springframework.http.HttpStatusCode
import org.springframework.http.MediaType
import org.springframework.http.ProblemDetail
import org.springframework.stereotype.Component
import org.springframework.web.ErrorResponse
import org.springframework.web.reactive.function.client.WebClientRequestException
import org.springframework.web.reactive.function.client.WebClientResponseException
import org.springframework.web.server.ServerWebExchange
import org.springframework.web.server.WebExceptionHandler
import reactor.core.publisher.Mono
import tools.jackson.databind.json.JsonMapper

/** Every error is a problem detail (RFC 9457), whichever way the inner call took. Before Boot's own handler. */
@Component
@Order(-2)
class Problems(private val json: JsonMapper) : WebExceptionHandler {
    override fun handle(exchange: ServerWebExchange, error: Throwable): Mono<Void> {
        val response = exchange.response
        if (response.isCommitted) return Mono.error(error)
        val problem = problemOf(error)
        response.statusCode = HttpStatusCode.valueOf(problem.status)
        response.headers.contentType = MediaType.APPLICATION_PROBLEM_JSON
        return response.writeWith(Mono.fromSupplier { response.bufferFactory().wrap(json.writeValueAsBytes(problem)) })
    }
}

private val log = LoggerFactory.getLogger(Problems::class.java)

fun problemOf(error: Throwable): ProblemDetail = when (error) {
    is ErrorResponse -> error.body
    is WebClientResponseException ->
        if (error.statusCode == HttpStatus.NOT_FOUND) memberGone() else innerCall(HttpStatus.BAD_GATEWAY, error)
    is WebClientRequestException -> problemOf(error.cause ?: error)
    is StatusRuntimeException -> problemOf(error.status, error)
    is StatusException -> problemOf(error.status, error)
    is TimeoutException, is io.netty.handler.timeout.TimeoutException -> innerCall(HttpStatus.GATEWAY_TIMEOUT, error)
    is IOException -> innerCall(HttpStatus.SERVICE_UNAVAILABLE, error)
    else -> innerCall(HttpStatus.INTERNAL_SERVER_ERROR, error)
}

private fun problemOf(status: Status, error: Throwable): ProblemDetail = when (status.code) {
    Status.Code.NOT_FOUND -> memberGone()
    Status.Code.UNAVAILABLE -> innerCall(HttpStatus.SERVICE_UNAVAILABLE, error)
    Status.Code.DEADLINE_EXCEEDED -> innerCall(HttpStatus.GATEWAY_TIMEOUT, error)
    else -> innerCall(HttpStatus.BAD_GATEWAY, error)
}

private fun memberGone() =
    ProblemDetail.forStatusAndDetail(HttpStatus.UNAUTHORIZED, "the token's member does not exist")

/** What failed is for the log, not for the caller. */
private fun innerCall(status: HttpStatus, error: Throwable): ProblemDetail {
    log.error("a request ends with {}", status.value(), error)
    return ProblemDetail.forStatus(status)
}
