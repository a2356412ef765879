package campus.gateway

import javax.crypto.spec.SecretKeySpec
import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.security.oauth2.jose.jws.MacAlgorithm
import org.springframework.security.oauth2.jwt.JwtException
import org.springframework.security.oauth2.jwt.JwtValidators
import org.springframework.security.oauth2.jwt.NimbusReactiveJwtDecoder
import org.springframework.stereotype.Component
import reactor.core.publisher.Mono

@ConfigurationProperties("campus.token")
data class TokenSettings(val secret: String)

/** Checks a token's signature, its times and who issued it. */
@Component
class Tokens(settings: TokenSettings) {
    private val decoder = NimbusReactiveJwtDecoder
        .withSecretKey(SecretKeySpec(settings.secret.toByteArray(), "HmacSHA256"))
        .macAlgorithm(MacAlgorithm.HS256)
        .build()
        .apply { setJwtValidator(JwtValidators.createDefaultWithIssuer("campus")) }

    /** The id of the member to whom the token was issued. */
    fun memberId(token: String): Mono<Long> = decoder.decode(token)
        .map { it.subject?.toLongOrNull() ?: throw unauthorized("the token has no member's id") }
        .onErrorMap(JwtException::class.java) { unauthorized("the token is not valid", it) }
}
