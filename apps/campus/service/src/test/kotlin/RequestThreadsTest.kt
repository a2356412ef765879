package campus.service

import io.grpc.Metadata
import io.grpc.MethodDescriptor
import io.grpc.ServerCall
import io.grpc.ServerCallHandler
import io.grpc.Status
import io.micrometer.core.instrument.Timer
import io.micrometer.core.instrument.simple.SimpleMeterRegistry
import java.util.concurrent.CountDownLatch
import java.util.concurrent.ExecutorService
import java.util.concurrent.TimeUnit
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.springframework.mock.web.MockFilterChain
import org.springframework.mock.web.MockHttpServletRequest
import org.springframework.mock.web.MockHttpServletResponse
import org.springframework.web.servlet.HandlerMapping

private const val BUSY_MS = 20L

private object UnusedCall : ServerCall<String, String>() {
    override fun request(messages: Int) = Unit

    override fun sendHeaders(headers: Metadata) = Unit

    override fun sendMessage(message: String) = Unit

    override fun close(status: Status, trailers: Metadata) = Unit

    override fun isCancelled() = false

    override fun getMethodDescriptor(): MethodDescriptor<String, String> = error("not asked for")
}

class RequestThreadsTest {
    private val registry = SimpleMeterRegistry()
    private val threads = RequestThreads(ThreadSettings(http = 1, grpc = 1), registry)

    @Test
    fun `a request's wait for its thread is recorded once, by its path`() {
        val pool = threads.httpThreads()
        afterOthers(pool) {
            handle("/feed")
            handle("/internal/members/{id}/profile")
        }
        pool.shutdown()
        assertTrue(waits("/feed").totalTime(TimeUnit.MILLISECONDS) >= BUSY_MS)
        assertEquals(1, waits("/feed").count())
        // It came in the same task, after the first one.
        assertEquals(0.0, waits("inner").totalTime(TimeUnit.MILLISECONDS))
        assertEquals(1, waits("inner").count())
    }

    @Test
    fun `a call's wait by gRPC is that of its tasks until the handler begins`() {
        val handler = ServerCallHandler<String, String> { _, _ -> object : ServerCall.Listener<String>() {} }
        val pool = threads.grpcThreads()
        lateinit var call: ServerCall.Listener<String>
        afterOthers(pool) { call = threads.grpcWaits().interceptCall(UnusedCall, Metadata(), handler) }
        afterOthers(pool) {
            call.onMessage("")
            call.onHalfClose()
        }
        afterOthers(pool) { call.onComplete() }
        pool.shutdown()
        assertEquals(1, waits("inner").count())
        assertTrue(waits("inner").totalTime(TimeUnit.MILLISECONDS) >= 2 * BUSY_MS)
    }

    /** Runs a task in a pool whose only thread is busy when it comes. */
    private fun afterOthers(pool: ExecutorService, task: () -> Unit) {
        val release = CountDownLatch(1)
        pool.execute(release::await)
        val done = pool.submit(Runnable { task() })
        Thread.sleep(BUSY_MS)
        release.countDown()
        done.get()
    }

    private fun handle(path: String) {
        val request = MockHttpServletRequest()
        request.setAttribute(HandlerMapping.BEST_MATCHING_PATTERN_ATTRIBUTE, path)
        threads.httpWaits().doFilter(request, MockHttpServletResponse(), MockFilterChain())
    }

    private fun waits(request: String): Timer = registry.get("request.thread.wait").tag("request", request).timer()
}
