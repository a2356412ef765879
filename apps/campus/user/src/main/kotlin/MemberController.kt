package campus.user

import campus.contract.InnerPaths
import campus.contract.MemberProfile
import jakarta.validation.Valid
import jakarta.validation.constraints.Email
import jakarta.validation.constraints.Max
import jakarta.validation.constraints.Min
import jakarta.validation.constraints.NotBlank
import jakarta.validation.constraints.Positive
import jakarta.validation.constraints.Size
import org.springframework.data.domain.PageRequest
import org.springframework.data.domain.Sort
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.PostMapping
import org.springframework.web.bind.annotation.RequestBody
import org.springframework.web.bind.annotation.RequestParam
import org.springframework.web.bind.annotation.RestController

data class LogIn(
    @field:NotBlank @field:Email val email: String,
    @field:NotBlank @field:Size(max = 72) val password: String,
)

data class LoggedIn(val token: String, val expiresInSeconds: Long)

data class FoundMember(val id: Long, val nickname: String, val profileImage: String?)

data class FoundMembers(val members: List<FoundMember>, val page: Int, val hasNext: Boolean)

@RestController
class MemberController(
    private val members: MemberRepository,
    private val profiles: Profiles,
    private val logIns: LogIns,
) {
    @PostMapping("/login")
    fun logIn(@Valid @RequestBody request: LogIn): LoggedIn = logIns.logIn(request.email, request.password)

    @GetMapping("/members")
    fun search(
        @RequestParam @Size(min = 1, max = 30) nickname: String,
        @RequestParam(defaultValue = "0") @Min(0) @Max(1_000) page: Int,
        @RequestParam(defaultValue = "20") @Min(1) @Max(50) size: Int,
    ): FoundMembers {
        val found = members.findByNicknameStartingWith(nickname, PageRequest.of(page, size, Sort.by("nickname")))
        val list = found.content.map { FoundMember(it.id, it.nickname, it.profileImage) }
        return FoundMembers(list, page, found.hasNext())
    }

    @GetMapping(InnerPaths.PROFILE)
    fun profile(@PathVariable @Positive id: Long): MemberProfile = profiles.of(id)
}
