package campus.gateway

import com.nimbusds.jose.JWSAlgorithm
import com.nimbusds.jose.JWSHeader
import com.nimbusds.jose.crypto.MACSigner
import com.nimbusds.jwt.JWTClaimsSet
import com.nimbusds.jwt.SignedJWT
import java.time.Instant
import java.util.Date
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test
import org.springframework.web.server.ResponseStatusException

private const val SECRET = "0123456789abcdef0123456789abcdef"

class TokensTest {
    private val tokens = Tokens(TokenSettings(SECRET))

    @Test
    fun `a valid token names the member`() {
        assertEquals(7L, tokens.memberId(token()).block())
    }

    @Test
    fun `other tokens are refused`() {
        val invalid = mapOf(
            "another secret" to token(secret = SECRET.reversed()),
            "at its end" to token(seconds = -3_600),
            "another issuer" to token(issuer = "other"),
            "no member" to token(subject = "root"),
            "no token" to "token",
        )
        for ((what, token) in invalid) {
            val error = assertThrows(ResponseStatusException::class.java, { tokens.memberId(token).block() }, what)
            assertEquals(401, error.statusCode.value(), what)
        }
    }

    private fun token(
        secret: String = SECRET,
        issuer: String = "campus",
        subject: String = "7",
        seconds: Long = 60,
    ): String {
        val claims = JWTClaimsSet.Builder().issuer(issuer).subject(subject)
            .expirationTime(Date.from(Instant.now().plusSeconds(seconds)))
            .build()
        return SignedJWT(JWSHeader(JWSAlgorithm.HS256), claims).apply { sign(MACSigner(secret)) }.serialize()
    }
}
