package rpcgauge

import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import java.io.IOException
import java.io.OutputStream
import java.util.zip.GZIPInputStream
import java.util.zip.GZIPOutputStream

/** java.util.zip's gzip with a level, for which its streams have no parameter. */
class GzipStream(into: OutputStream, level: Int) : GZIPOutputStream(into, BUFFER) {
    init {
        def.setLevel(level)
    }

    private companion object {
        const val BUFFER = 8192
    }
}

fun gzip(plain: ByteArray, level: Int): ByteArray {
    val compressed = ByteArrayOutputStream()
    GzipStream(compressed, level).use { it.write(plain) }
    return compressed.toByteArray()
}

fun gunzip(compressed: ByteArray, limits: Limits): ByteArray {
    val most = limits.inflated(compressed.size)
    val plain = GZIPInputStream(ByteArrayInputStream(compressed)).use {
        it.readNBytes(minOf(most + 1, Int.MAX_VALUE.toLong()).toInt())
    }
    if (plain.size > most) throw IOException("the message is larger than the limit")
    return plain
}
