package rpcgauge.springclient

import com.google.gson.JsonObject
import java.net.URI
import org.springframework.http.ResponseEntity
import rpcgauge.Caller
import rpcgauge.ClientSettings
import rpcgauge.Fault
import rpcgauge.Record
import rpcgauge.Refused
import rpcgauge.Requests
import rpcgauge.Sample
import rpcgauge.Workload
import rpcgauge.jackson.Json
import rpcgauge.now
import rpcgauge.oneLine

/** Shared by both clients. They read and write messages themselves, so only a call's begin and end can be observed. */
abstract class Spring(protected val asked: ClientSettings, workload: Workload) : Caller {
    private val format = Json(workload)
    protected val requests = Requests(asked.samples.map { format.read(Sample.REQUEST, it) })
    protected val uri = URI("http://${asked.address}${workload.restPath}")
    protected val type: Class<*> = workload.method.plain(Sample.RESPONSE)

    /** Makes a call and waits for the response. */
    protected abstract fun callOnce(request: Any): ResponseEntity<out Any>

    override fun verify(): JsonObject {
        val response = try {
            callOnce(requests.first)
        } catch (error: RuntimeException) {
            throw Refused(Fault.SUBJECT, oneLine(error))
        }
        return format.verified(message(response))
    }

    protected fun ended(response: ResponseEntity<out Any>, record: Record) {
        message(response)
        record.end = now()
        if (asked.calling.marks) record.readMarks { response.headers.getFirst(it) }
    }

    private fun message(response: ResponseEntity<out Any>): Any =
        response.body ?: throw IllegalStateException("${response.statusCode}: the response has no body")
}
