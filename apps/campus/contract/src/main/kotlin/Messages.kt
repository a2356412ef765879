package campus.contract

/** What the gateway gets of a member by REST; by gRPC it is GetMemberProfileInfo. A member need not have an image. */
data class MemberProfile(val id: Long, val email: String, val profileImage: String?, val nickname: String)

/** What the post service gets of a member's followers by REST; by gRPC it is GetFollowerResponse. */
data class Followers(val userId: List<Long>)

/** Headers in which the gateway tells a service who calls. It removes those that a caller sends. */
object MemberHeaders {
    const val ID = "X-Member-Id"
    const val EMAIL = "X-Member-Email"
    const val NICKNAME = "X-Member-Nickname"
    const val IMAGE = "X-Member-Image"

    val ALL = listOf(ID, EMAIL, NICKNAME, IMAGE)
}

/** Paths of the inner calls. The gateway has no route to them. */
object InnerPaths {
    const val PREFIX = "/internal/"
    const val PROFILE = "${PREFIX}members/{id}/profile"
    const val FOLLOWERS = "${PREFIX}members/{id}/followers"
}
