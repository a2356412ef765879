package campus.post

import campus.contract.MemberHeaders
import jakarta.persistence.Column
import jakarta.persistence.Entity
import jakarta.persistence.Id
import jakarta.persistence.Table
import jakarta.validation.constraints.Max
import jakarta.validation.constraints.Min
import jakarta.validation.constraints.Positive
import java.time.Instant
import org.springframework.data.domain.PageRequest
import org.springframework.data.domain.Pageable
import org.springframework.data.domain.Slice
import org.springframework.data.domain.Sort
import org.springframework.data.jpa.repository.JpaRepository
import org.springframework.transaction.annotation.Transactional
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.RequestHeader
import org.springframework.web.bind.annotation.RequestParam
import org.springframework.web.bind.annotation.RestController

/** The defaults give the constructor without parameters that JPA asks for. */
@Entity
@Table(name = "posts")
class Post(
    @Id val id: Long = 0,
    val authorId: Long = 0,
    @Column(nullable = false) val text: String = "",
    @Column(nullable = false) val createdAt: Instant = Instant.EPOCH,
)

interface PostRepository : JpaRepository<Post, Long> {
    @Transactional(readOnly = true)
    fun findByAuthorIdIn(authors: Collection<Long>, page: Pageable): Slice<Post>
}

data class FeedPost(val id: Long, val authorId: Long, val text: String, val createdAt: Instant)

data class FeedPage(val posts: List<FeedPost>, val page: Int, val hasNext: Boolean)

/** The newest posts of a member's followers. No connection to the database is held while they are asked for. */
@RestController
class FeedController(private val followers: FollowerClient, private val posts: PostRepository) {
    @GetMapping("/feed")
    fun feed(
        @RequestHeader(MemberHeaders.ID) @Positive member: Long,
        @RequestParam(defaultValue = "0") @Min(0) @Max(1_000) page: Int,
        @RequestParam(defaultValue = "20") @Min(1) @Max(50) size: Int,
    ): FeedPage {
        val found = posts.findByAuthorIdIn(followers.of(member), PageRequest.of(page, size, NEWEST_FIRST))
        val list = found.content.map { FeedPost(it.id, it.authorId, it.text, it.createdAt) }
        return FeedPage(list, page, found.hasNext())
    }

    private companion object {
        val NEWEST_FIRST: Sort = Sort.by(Sort.Direction.DESC, "createdAt", "id")
    }
}
