package rpcgauge

import java.lang.invoke.MethodHandle
import java.lang.reflect.Array as Arrays

/** The host's monotonic clock in nanoseconds. On Linux, the JVM's nanoTime is CLOCK_MONOTONIC itself.
 */
fun now(): Long = System.nanoTime()

/**
 * The process's CPU time in nanoseconds; null if it cannot be read. The JVM's own figure has steps of 10 ms, longer
 * than a slice, so the clock is read through the foreign function interface, which exists since Java 22. This code is
 * compiled for Java 17, so it finds the interface by reflection.
 */
object ProcessClock {
    private const val CLOCK_PROCESS_CPUTIME_ID = 2
    private const val TIMESPEC_BYTES = 16L
    private const val NANOS = 1_000_000_000L
    private val read: (() -> Long)? = runCatching(::find).getOrNull()

    fun cpu(): Long? = read?.invoke()

    private fun find(): () -> Long {
        fun named(name: String) = Class.forName("java.lang.foreign.$name")
        val layout = named("MemoryLayout")
        val segment = named("MemorySegment")
        val values = named("ValueLayout")
        val options = named("Linker\$Option")
        val linker = named("Linker").getMethod("nativeLinker").invoke(null)
        val symbols = named("Linker").getMethod("defaultLookup").invoke(linker)
        val found = named("SymbolLookup").getMethod("find", String::class.java).invoke(symbols, "clock_gettime")
        val address = (found as java.util.Optional<*>).get()
        val int = values.getField("JAVA_INT").get(null)
        val long = values.getField("JAVA_LONG").get(null)
        val pointer = values.getField("ADDRESS").get(null)
        val takes = Arrays.newInstance(layout, 2).also { Arrays.set(it, 0, int); Arrays.set(it, 1, pointer) }
        val function = named("FunctionDescriptor").getMethod("of", layout, takes.javaClass).invoke(null, int, takes)
        val none = Arrays.newInstance(options, 0)
        val call = named("Linker").getMethod("downcallHandle", segment, named("FunctionDescriptor"), none.javaClass)
            .invoke(linker, address, function, none) as MethodHandle
        val arena = named("Arena").getMethod("global").invoke(null)
        val time = named("SegmentAllocator").getMethod("allocate", Long::class.java).invoke(arena, TIMESPEC_BYTES)
        val get = segment.getMethod("get", named("ValueLayout\$OfLong"), Long::class.java)
        return {
            call.invokeWithArguments(CLOCK_PROCESS_CPUTIME_ID, time)
            get.invoke(time, long, 0L) as Long * NANOS + get.invoke(time, long, Long.SIZE_BYTES.toLong()) as Long
        }
    }
}
