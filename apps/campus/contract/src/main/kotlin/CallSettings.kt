package campus.contract

import java.time.Duration
import org.springframework.boot.context.properties.ConfigurationProperties

/** How a service makes its inner calls. */
enum class Way { REST, REST_UNPOOLED, GRPC, GRPC_COROUTINE }

@ConfigurationProperties("campus.inner-calls")
data class CallSettings(
    val calls: Way,
    /** Where the service that is called is, by HTTP and by gRPC. */
    val http: String,
    val grpc: String,
    val deadline: Duration,
    /** Connections that REST keeps. */
    val connections: Int,
    /** How long it keeps one without use: shorter than the server does, so that none is closed under a request. */
    val idle: Duration,
)
