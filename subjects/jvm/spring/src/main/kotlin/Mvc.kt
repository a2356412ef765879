package rpcgauge.spring

import jakarta.servlet.http.HttpServletResponse
import org.springframework.http.HttpStatus
import org.springframework.web.server.ResponseStatusException
import rpcgauge.HANDLER_END
import rpcgauge.HANDLER_START
import rpcgauge.Handler
import rpcgauge.InvalidRequest
import rpcgauge.now

/** The body of a controller's method; the generator writes the controller for each set of messages. */
class Mvc(private val handler: Handler, private val hasMarks: Boolean) {
    fun respond(request: Any, response: HttpServletResponse): Any {
        val start = now()
        val message = try {
            handler(request)
        } catch (error: InvalidRequest) {
            throw ResponseStatusException(HttpStatus.BAD_REQUEST, error.message, error)
        }
        if (hasMarks) {
            response.setHeader(HANDLER_START, "$start")
            response.setHeader(HANDLER_END, "${now()}")
        }
        return message
    }
}
