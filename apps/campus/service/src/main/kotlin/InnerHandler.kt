package campus.service

import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Timer
import java.time.Duration
import java.util.function.Supplier
import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.stereotype.Component

@ConfigurationProperties("campus")
data class InnerSettings(val innerDelay: Duration)

/**
 * What handles an inner call, by REST and by gRPC, with its time. The caller's time of the call has the same and what
 * the protocol and waiting take.
 *
 * There is a pause in it, none by default. With it, a measurement can be tested: it must find the pause, and its size.
 */
@Component
class InnerHandler(private val settings: InnerSettings, private val registry: MeterRegistry) {
    fun <T : Any> of(call: String, handle: (Long) -> T): (Long) -> T {
        val timer = Timer.builder("inner.handler").tag("call", call).register(registry)
        val pause = settings.innerDelay.toMillis()
        return { member ->
            timer.record(Supplier {
                if (pause > 0) Thread.sleep(pause)
                handle(member)
            })
        }
    }
}
