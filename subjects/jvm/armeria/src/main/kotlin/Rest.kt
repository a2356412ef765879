package rpcgauge.armeria

import com.linecorp.armeria.common.AggregatedHttpRequest
import com.linecorp.armeria.common.HttpData
import com.linecorp.armeria.common.HttpHeaderNames
import com.linecorp.armeria.common.HttpRequest
import com.linecorp.armeria.common.HttpResponse
import com.linecorp.armeria.common.HttpStatus
import com.linecorp.armeria.common.MediaType
import com.linecorp.armeria.common.ResponseHeaders
import com.linecorp.armeria.server.AbstractHttpService
import com.linecorp.armeria.server.ServiceRequestContext
import java.io.IOException
import rpcgauge.Format
import rpcgauge.HANDLER_END
import rpcgauge.HANDLER_START
import rpcgauge.InvalidRequest
import rpcgauge.Sample
import rpcgauge.ServerSettings
import rpcgauge.gunzip
import rpcgauge.gzip
import rpcgauge.now
import rpcgauge.oneLine

internal const val GZIP = "gzip"

/** A REST resource. The library's own gzip has no level: java.util.zip's stands around it. */
internal class Rest(private val asked: ServerSettings, private val format: Format) : AbstractHttpService() {
    private val handler = format.handler()
    private val mediaType = MediaType.parse(format.mediaType)
    private val level = asked.calling.responseCompression.level

    override fun doPost(context: ServiceRequestContext, request: HttpRequest): HttpResponse =
        HttpResponse.of(request.aggregate().thenApply(::respond))

    private fun respond(request: AggregatedHttpRequest): HttpResponse {
        val message = try {
            decode(request)
        } catch (error: Exception) {
            return refuse(HttpStatus.BAD_REQUEST, error)
        }
        val start = now()
        val response = try {
            handler(message)
        } catch (error: InvalidRequest) {
            return refuse(HttpStatus.BAD_REQUEST, error)
        }
        val end = now()
        val isCompressed = level > 0 && GZIP in request.headers().get(HttpHeaderNames.ACCEPT_ENCODING, "")
        val plain = format.encode(response)
        val headers = ResponseHeaders.builder(HttpStatus.OK).contentType(mediaType)
        if (isCompressed) headers.set(HttpHeaderNames.CONTENT_ENCODING, GZIP)
        if (asked.calling.marks) headers.addLong(HANDLER_START, start).addLong(HANDLER_END, end)
        return HttpResponse.of(headers.build(), HttpData.wrap(if (isCompressed) gzip(plain, level) else plain))
    }

    private fun decode(request: AggregatedHttpRequest): Any {
        val carried = request.content().array()
        val plain = when (val encoding = request.headers().get(HttpHeaderNames.CONTENT_ENCODING, "identity")) {
            "identity" -> carried
            GZIP -> gunzip(carried, asked.limits)
            else -> throw IOException("content-encoding $encoding: this server has gzip")
        }
        return format.decode(plain, Sample.REQUEST)
    }

    private fun refuse(status: HttpStatus, error: Exception) =
        HttpResponse.of(status, MediaType.PLAIN_TEXT_UTF_8, oneLine(error))
}
