package campus.data

import java.time.Instant
import java.util.Random

/** Members with the ids from 1 to this one log in, by the email "mID@uni.edu"; all have the same password. */
const val LOG_INS = 100
const val PASSWORD = "campus-2024"

private const val SEED = 2024L

class Member(val id: Long, val email: String, val profileImage: String?, val nickname: String)

class Post(val id: Long, val authorId: Long, val text: String, val createdAt: Instant)

class Follow(val follower: Long, val member: Long)

/**
 * The data of the application, the same for the same seed.
 *
 * Sizes follow the published measurement: a profile of those who log in has 67 bytes as JSON and 28 as protobuf on
 * average, their followers 291 and 101. The two sizes of a profile are nearer to each other than the names of its
 * fields allow, unless some members have no image; the digits of the followers' ids follow from their sizes, too.
 * CampusTest holds the sizes.
 */
class Campus(seed: Long = SEED) {
    val members: List<Member> = members(Random(seed))
    val follows: List<Follow> = follows(Random(seed + 1))
    val posts: List<Post> = posts(Random(seed + 2))

    private fun members(random: Random): List<Member> {
        val plain = (1L..LOG_INS).shuffled(random).take(WITHOUT_IMAGE).toSet()
        val taken = HashSet<String>()
        return (1L..MEMBERS).map { id ->
            val logsIn = id <= LOG_INS
            val names = generateSequence { if (logsIn) "m$id" else random.name(5 + random.nextInt(3)) }
            val nickname = names.first(taken::add)
            val hasImage = if (logsIn) id !in plain else random.nextInt(LOG_INS) >= WITHOUT_IMAGE
            Member(id, "$nickname@uni.edu", if (hasImage) "$id.png" else null, nickname)
        }
    }

    /** Who logs in has 30 to 69 followers, others few; members who joined later follow more. */
    private fun follows(random: Random): List<Follow> {
        val many = generateSequence { (MIN..MAX).shuffled(random) }.flatten().take(LOG_INS).toList()
        return (1L..MEMBERS).flatMap { member ->
            val count = if (member <= LOG_INS) many[member.toInt() - 1] else random.nextInt(FEW)
            generateSequence { maxOf(random.follower(), random.follower()) }
                .filter { it != member }
                .distinct()
                .take(count)
                .map { Follow(it, member) }
        }
    }

    private fun posts(random: Random): List<Post> {
        val authors = (1L..MEMBERS).flatMap { member -> List(1 + random.nextInt(MAX_POSTS)) { member } }
        return authors.shuffled(random).mapIndexed { index, author ->
            Post(index + 1L, author, random.text(), FIRST_POST.plusSeconds(index * SECONDS_BETWEEN_POSTS))
        }
    }

    private companion object {
        /** Ids of followers have two bytes as protobuf, up to 16,383. */
        const val MEMBERS = 16_383
        const val FIRST_FOLLOWER = 1_000

        /** Of 100. */
        const val WITHOUT_IMAGE = 18

        const val MIN = 30
        const val MAX = 69
        const val FEW = 4

        const val MAX_POSTS = 5
        const val SECONDS_BETWEEN_POSTS = 600L
        val FIRST_POST: Instant = Instant.parse("2024-03-01T08:00:00Z")

        fun Random.follower(): Long = (FIRST_FOLLOWER + nextInt(MEMBERS - FIRST_FOLLOWER + 1)).toLong()
    }
}

private const val CONSONANTS = "bcdfghjklmnpqrstvwxz"
private const val VOWELS = "aeiou"
private const val MIN_TEXT = 60
private const val TEXT_SPREAD = 120

/** Consonants and vowels in turn. */
private fun Random.name(letters: Int): String = buildString {
    repeat(letters) {
        val from = if (it % 2 == 0) CONSONANTS else VOWELS
        append(from[nextInt(from.length)])
    }
}

private fun Random.text(): String = buildString {
    val length = MIN_TEXT + nextInt(TEXT_SPREAD)
    while (this.length < length) append(name(2 + nextInt(7))).append(' ')
    setLength(length)
}.trim()
