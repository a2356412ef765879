package campus.data

import campus.contract.Followers
import campus.contract.MemberProfile
import campus.contract.grpc.GetFollowerResponse
import campus.contract.grpc.GetMemberProfileInfo
import campus.contract.grpc.GetMemberProfileResponse
import com.fasterxml.jackson.annotation.JsonInclude
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import tools.jackson.module.kotlin.jacksonMapperBuilder

class CampusTest {
    private val campus = Campus()
    private val json = jacksonMapperBuilder()
        .changeDefaultPropertyInclusion { it.withValueInclusion(JsonInclude.Include.NON_NULL) }
        .build()
    private val logIns = campus.members.take(LOG_INS)

    @Test
    fun `a profile has the published bytes`() {
        val profiles = logIns.map { MemberProfile(it.id, it.email, it.profileImage, it.nickname) }
        assertMean(67, profiles.map { json.writeValueAsBytes(it).size })
        assertMean(28, logIns.map { profile(it).serializedSize })
    }

    @Test
    fun `followers have the published bytes`() {
        val followers = campus.follows.groupBy({ it.member }, { it.follower })
        val lists = logIns.map { followers.getValue(it.id) }
        assertMean(291, lists.map { json.writeValueAsBytes(Followers(it)).size })
        assertMean(101, lists.map { GetFollowerResponse.newBuilder().addAllUserId(it).build().serializedSize })
    }

    @Test
    fun `the same seed gives the same data`() {
        assertEquals(text(Campus(1)), text(Campus(1)))
        assertNotEquals(text(Campus(1)), text(Campus(2)))
    }

    @Test
    fun `names, emails and follows are there once`() {
        assertOnce(campus.members.map { it.nickname })
        assertOnce(campus.members.map { it.email })
        assertOnce(campus.follows.map { it.follower to it.member })
        assertTrue(campus.follows.none { it.follower == it.member })
    }

    /** All published figures are whole numbers. */
    private fun assertMean(bytes: Int, sizes: List<Int>) = assertEquals(bytes.toDouble(), sizes.average(), 0.5)

    private fun assertOnce(values: List<Any>) = assertEquals(values.size, values.toSet().size)

    private fun profile(member: Member) = GetMemberProfileResponse.newBuilder()
        .setInfo(
            GetMemberProfileInfo.newBuilder()
                .setId(member.id)
                .setEmail(member.email)
                .setProfileImage(member.profileImage.orEmpty())
                .setNickname(member.nickname),
        )
        .build()

    private fun text(campus: Campus) = campus.members.map { "${it.id} ${it.email} ${it.profileImage}" } +
        campus.follows.map { "${it.follower} ${it.member}" } +
        campus.posts.map { "${it.id} ${it.authorId} ${it.text} ${it.createdAt}" }
}
