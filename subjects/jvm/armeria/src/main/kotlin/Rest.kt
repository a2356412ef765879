package rpcgauge.armeria

import com.linecorp.armeria.common.HttpStatus
import com.linecorp.armeria.server.HttpStatusException
import com.linecorp.armeria.server.ServiceRequestContext
import rpcgauge.HANDLER_END
import rpcgauge.HANDLER_START
import rpcgauge.Handler
import rpcgauge.InvalidRequest
import rpcgauge.now

/** The body of an annotated service's method; the generator writes the service for each set of messages. */
class Rest(private val handler: Handler, private val hasMarks: Boolean) {
    fun respond(request: Any, context: ServiceRequestContext): Any {
        val start = now()
        val message = try {
            handler(request)
        } catch (error: InvalidRequest) {
            throw HttpStatusException.of(HttpStatus.BAD_REQUEST, error)
        }
        if (hasMarks) {
            context.addAdditionalResponseHeader(HANDLER_START, "$start")
            context.addAdditionalResponseHeader(HANDLER_END, "${now()}")
        }
        return message
    }
}
