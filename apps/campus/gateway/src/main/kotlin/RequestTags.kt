package campus.gateway

import io.micrometer.common.KeyValue
import org.springframework.cloud.gateway.support.ServerWebExchangeUtils.GATEWAY_PREDICATE_MATCHED_PATH_ATTR
import org.springframework.http.server.reactive.observation.DefaultServerRequestObservationConvention
import org.springframework.http.server.reactive.observation.ServerRequestObservationContext
import org.springframework.stereotype.Component

/** `http.server.requests` by the path of the route, which Spring tells for its own controllers only. */
@Component
class RequestTags : DefaultServerRequestObservationConvention() {
    override fun uri(context: ServerRequestObservationContext): KeyValue {
        val path = context.attributes[GATEWAY_PREDICATE_MATCHED_PATH_ATTR] ?: return super.uri(context)
        return KeyValue.of("uri", "$path")
    }
}
