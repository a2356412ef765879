package campus.user

import campus.service.Refused
import com.nimbusds.jose.jwk.source.ImmutableSecret
import com.nimbusds.jose.proc.SecurityContext
import java.time.Clock
import java.time.Duration
import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.http.HttpStatus
import org.springframework.security.crypto.bcrypt.BCryptPasswordEncoder
import org.springframework.security.oauth2.jose.jws.MacAlgorithm
import org.springframework.security.oauth2.jwt.JwsHeader
import org.springframework.security.oauth2.jwt.JwtClaimsSet
import org.springframework.security.oauth2.jwt.JwtEncoderParameters
import org.springframework.security.oauth2.jwt.NimbusJwtEncoder
import org.springframework.stereotype.Component
import org.springframework.stereotype.Service

@ConfigurationProperties("campus.token")
data class TokenSettings(val secret: String, val valid: Duration)

/** Issues the tokens that the gateway checks: signed by HMAC with SHA-256, the member's id as their subject. */
@Component
class Tokens(private val settings: TokenSettings) {
    private val encoder = NimbusJwtEncoder(ImmutableSecret<SecurityContext>(settings.secret.toByteArray()))

    val valid: Duration get() = settings.valid

    fun issue(memberId: Long, clock: Clock = Clock.systemUTC()): String {
        val now = clock.instant()
        val claims = JwtClaimsSet.builder().issuer("campus").subject("$memberId")
            .issuedAt(now).expiresAt(now.plus(valid))
            .build()
        return encoder.encode(JwtEncoderParameters.from(JwsHeader.with(MacAlgorithm.HS256).build(), claims)).tokenValue
    }
}

@Service
class LogIns(private val members: MemberRepository, private val tokens: Tokens) {
    private val passwords = BCryptPasswordEncoder()

    /** Does not tell whether it is the email or the password that is wrong. */
    fun logIn(email: String, password: String): LoggedIn {
        val member = members.findByEmail(email)
        if (member == null || !passwords.matches(password, member.password)) {
            throw Refused(HttpStatus.UNAUTHORIZED, "the email or the password is wrong")
        }
        return LoggedIn(tokens.issue(member.id), tokens.valid.toSeconds())
    }
}
