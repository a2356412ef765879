package campus.user

import java.time.Clock
import java.time.Duration
import java.time.Instant
import java.time.ZoneOffset
import javax.crypto.spec.SecretKeySpec
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test
import org.springframework.security.oauth2.jwt.JwtException
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder

class TokensTest {
    private val tokens = Tokens(TokenSettings(SECRET, Duration.ofHours(12)))

    @Test
    fun `a token has the member and its times`() {
        val jwt = decoder(SECRET).decode(tokens.issue(7))
        assertEquals("7", jwt.subject)
        assertEquals("campus", jwt.getClaimAsString("iss"))
        assertEquals(Duration.ofHours(12), Duration.between(jwt.issuedAt, jwt.expiresAt))
    }

    @Test
    fun `a token of another secret is refused`() {
        assertThrows(JwtException::class.java) { decoder(SECRET.reversed()).decode(tokens.issue(7)) }
    }

    @Test
    fun `a token ends`() {
        val then = Clock.fixed(Instant.parse("2024-03-01T08:00:00Z"), ZoneOffset.UTC)
        assertThrows(JwtException::class.java) { decoder(SECRET).decode(tokens.issue(7, then)) }
    }

    private fun decoder(secret: String) =
        NimbusJwtDecoder.withSecretKey(SecretKeySpec(secret.toByteArray(), "HmacSHA256")).build()

    private companion object {
        const val SECRET = "0123456789abcdef0123456789abcdef"
    }
}
