package campus.user

import campus.contract.MemberProfile
import campus.service.InnerHandler
import campus.service.NoSuchMember
import jakarta.persistence.Column
import jakarta.persistence.Entity
import jakarta.persistence.Id
import jakarta.persistence.Table
import org.springframework.data.domain.Pageable
import org.springframework.data.domain.Slice
import org.springframework.data.jpa.repository.JpaRepository
import org.springframework.data.repository.findByIdOrNull
import org.springframework.stereotype.Service
import org.springframework.transaction.annotation.Transactional

/** The defaults give the constructor without parameters that JPA asks for. */
@Entity
@Table(name = "members")
class Member(
    @Id val id: Long = 0,
    @Column(nullable = false) val email: String = "",
    /** BCrypt's hash of it. */
    @Column(nullable = false) val password: String = "",
    val profileImage: String? = null,
    @Column(nullable = false) val nickname: String = "",
)

@Transactional(readOnly = true)
interface MemberRepository : JpaRepository<Member, Long> {
    fun findByEmail(email: String): Member?

    fun findByNicknameStartingWith(nickname: String, page: Pageable): Slice<Member>
}

/** The inner call, by REST and by gRPC. */
@Service
class Profiles(private val members: MemberRepository, inner: InnerHandler) {
    val of: (Long) -> MemberProfile = inner.of("profile") { id ->
        val member = members.findByIdOrNull(id) ?: throw NoSuchMember(id)
        MemberProfile(member.id, member.email, member.profileImage, member.nickname)
    }
}
