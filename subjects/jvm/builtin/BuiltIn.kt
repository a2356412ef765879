package rpcgauge.builtin

import java.io.IOException
import java.nio.file.Files
import java.nio.file.Path
import rpcgauge.Fault
import rpcgauge.Handler
import rpcgauge.InvalidRequest
import rpcgauge.Refused
import rpcgauge.Series
import rpcgauge.Services
import rpcgauge.user

private const val MAX_ITEMS = 100_000
private const val KEPT_ITEMS = 2_000
private const val FIRST_FOLLOWER = 10_000L
private const val ROWS = "contract/data/birdstrikes.csv"

/**
 * The services of the built-in workloads (contract/workloads.md). The generator compiles these files together with the
 * classes of their messages.
 */
class BuiltIn : Services {
    override fun proto(workload: String, n: Int): Handler = when (workload) {
        "echo" -> { request -> request }
        "hello" -> ::helloProto
        "list" -> listProto(n)
        "items" -> first(protoItems)
        "records" -> recordsProto(n)
        "profile" -> ::profileProto
        "followers" -> { request -> followersProto(request, n) }
        else -> throw user("there is no workload \"$workload\"")
    }

    override fun plain(workload: String, n: Int): Handler = when (workload) {
        "echo" -> { request -> request }
        "hello" -> ::helloPlain
        "list" -> listPlain(n)
        "items" -> first(plainItems)
        "records" -> recordsPlain(n)
        "profile" -> ::profilePlain
        "followers" -> { request -> followersPlain(request, n) }
        else -> throw user("there is no workload \"$workload\"")
    }

    override val protoItems: Series by lazy(::itemsProto)

    override val plainItems: Series by lazy(::itemsPlain)

    private fun first(items: Series): Handler = { request -> items.respond(request, 0) }
}

/** Responds with the requested number of elements. The usual response is built once. */
internal fun sized(n: Int, most: Int, field: String, asked: (Any) -> Int, first: (Int) -> Any): Handler {
    if (n > most) throw user("n is $n: this workload has at most $most")
    val kept = first(n)
    return { request ->
        when (val count = asked(request)) {
            n -> kept
            in 0..most -> first(count)
            else -> throw InvalidRequest("$field is $count: it must be 0 to $most")
        }
    }
}

internal fun listed(n: Int, asked: (Any) -> Int, first: (Int) -> Any) = sized(n, MAX_ITEMS, "id", asked, first)

/** Responds with the item that was requested, and in a stream with those after it. The first items are built once. */
internal fun items(asked: (Any) -> Int, item: (Int) -> Any): Series {
    val kept = List(KEPT_ITEMS) { item(it + 1) }
    return Series { request, number ->
        val first = asked(request)
        if (first !in 1..MAX_ITEMS) throw InvalidRequest("id is $first: it must be 1 to $MAX_ITEMS")
        kept.getOrNull(first + number - 1) ?: item(first + number)
    }
}

internal fun followers(user: Long, n: Int): List<Long> {
    if (user > Long.MAX_VALUE - FIRST_FOLLOWER - n) {
        throw InvalidRequest("userId is $user: too many for its followers' ids")
    }
    return List(n) { user + FIRST_FOLLOWER + it }
}

/** The cells of the rows of `records`; an empty one is null. */
internal fun rows(): List<List<String?>> = try {
    Files.readAllLines(Path.of(ROWS)).drop(1).map { line -> line.split(',').map { it.ifEmpty { null } } }
} catch (error: IOException) {
    throw Refused(Fault.SUBJECT, "cannot read the rows of records: $error")
}
