package campus.data

import java.io.StringReader
import java.sql.DriverManager
import org.neo4j.driver.AuthTokens
import org.neo4j.driver.Driver
import org.neo4j.driver.GraphDatabase
import org.postgresql.PGConnection
import org.springframework.security.crypto.bcrypt.BCrypt

/** Always the same, so that the data are. Members of a real application have one each. */
private const val SALT = "\$2a\$10\$CampusCampusCampusCamp"
private const val BATCH = 5_000

/** Writes one database: `postgres HOST:PORT USER PASSWORD` or `neo4j HOST:PORT`. Both are empty before. */
fun main(args: Array<String>) {
    val campus = Campus()
    when (args.firstOrNull()) {
        "postgres" -> Postgres(args[1], args[2], args[3]).write(campus)
        "neo4j" -> GraphDatabase.driver("bolt://${args[1]}", AuthTokens.none()).use { Graph(it).write(campus) }
        else -> error("which database: postgres HOST:PORT USER PASSWORD, or neo4j HOST:PORT?")
    }
}

private class Postgres(private val address: String, private val user: String, private val password: String) {
    fun write(campus: Campus) {
        run("postgres", "CREATE DATABASE members")
        run("postgres", "CREATE DATABASE posts")
        val hash = BCrypt.hashpw(PASSWORD, SALT)
        load("members", campus.members) { listOf(it.id, it.email, hash, it.profileImage, it.nickname) }
        load("posts", campus.posts) { listOf(it.id, it.authorId, it.text, it.createdAt) }
    }

    private fun connect(database: String) =
        DriverManager.getConnection("jdbc:postgresql://$address/$database", user, password)

    private fun run(database: String, sql: String) =
        connect(database).use { connection -> connection.createStatement().use { it.execute(sql) } }

    /** Creates the database's only table, which has its name, and fills it. */
    private fun <T> load(database: String, rows: List<T>, columns: (T) -> List<Any?>) {
        run(database, checkNotNull(javaClass.getResource("/$database.sql")).readText())
        val text = rows.joinToString("") { row ->
            columns(row).joinToString("\t", postfix = "\n") { it?.toString() ?: "\\N" }
        }
        connect(database).use {
            it.unwrap(PGConnection::class.java).copyAPI.copyIn("COPY $database FROM STDIN", StringReader(text))
        }
        run(database, "VACUUM ANALYZE $database")
    }
}

private class Graph(private val driver: Driver) {
    fun write(campus: Campus) {
        run("CREATE CONSTRAINT member_id FOR (m:MemberNode) REQUIRE m.memberId IS UNIQUE")
        run("CALL db.awaitIndexes()")
        campus.members.map { it.id }.chunked(BATCH).forEach { run(MEMBER, it) }
        campus.follows.map { listOf(it.follower, it.member) }.chunked(BATCH).forEach { run(FOLLOW, it) }
    }

    private fun run(query: String, rows: List<Any> = emptyList()) {
        driver.executableQuery(query).withParameters(mapOf("rows" to rows)).execute()
    }

    private companion object {
        const val MEMBER = "UNWIND \$rows AS id CREATE (:MemberNode {memberId: id})"
        const val FOLLOW = "UNWIND \$rows AS row " +
            "MATCH (follower:MemberNode {memberId: row[0]}) MATCH (member:MemberNode {memberId: row[1]}) " +
            "CREATE (follower)-[:FOLLOWS]->(member)"
    }
}
