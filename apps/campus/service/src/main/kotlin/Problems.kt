package campus.service

import io.grpc.Status
import io.grpc.StatusException
import org.slf4j.LoggerFactory
import org.springframework.grpc.server.exception.GrpcExceptionHandler
import org.springframework.http.HttpStatus
import org.springframework.http.ProblemDetail
import org.springframework.stereotype.Component
import org.springframework.web.bind.annotation.ExceptionHandler
import org.springframework.web.bind.annotation.RestControllerAdvice
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler

/** What a service refuses, with the status by HTTP; by gRPC it has the one that corresponds. */
open class Refused(val status: HttpStatus, message: String, cause: Throwable? = null) : RuntimeException(message, cause)

class NoSuchMember(id: Long) : Refused(HttpStatus.NOT_FOUND, "there is no member $id")

private val log = LoggerFactory.getLogger("campus.problems")

/** Every error is a problem detail (RFC 9457); Spring's own, such as an invalid parameter, are so by the base class. */
@RestControllerAdvice
class Problems : ResponseEntityExceptionHandler() {
    @ExceptionHandler
    fun refused(error: Refused): ProblemDetail = ProblemDetail.forStatusAndDetail(error.status, error.message.orEmpty())

    @ExceptionHandler
    fun unforeseen(error: Exception): ProblemDetail {
        log.error("a request failed", error)
        return ProblemDetail.forStatus(HttpStatus.INTERNAL_SERVER_ERROR)
    }
}

@Component
class GrpcProblems : GrpcExceptionHandler {
    override fun handleException(error: Throwable): StatusException {
        if (error is Refused) return statusOf(error.status).withDescription(error.message).asException()
        log.error("a call failed", error)
        return Status.INTERNAL.asException()
    }

    private fun statusOf(http: HttpStatus) = when (http) {
        HttpStatus.NOT_FOUND -> Status.NOT_FOUND
        HttpStatus.BAD_REQUEST -> Status.INVALID_ARGUMENT
        else -> Status.UNAVAILABLE
    }
}
