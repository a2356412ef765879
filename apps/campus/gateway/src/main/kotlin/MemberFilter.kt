package campus.gateway

import campus.contract.MemberHeaders
import campus.contract.MemberProfile
import java.nio.charset.StandardCharsets
import org.springframework.cloud.gateway.filter.GatewayFilter
import org.springframework.cloud.gateway.filter.GatewayFilterChain
import org.springframework.cloud.gateway.route.Route
import org.springframework.cloud.gateway.support.ServerWebExchangeUtils.GATEWAY_ROUTE_ATTR
import org.springframework.http.HttpHeaders
import org.springframework.http.HttpStatus
import org.springframework.stereotype.Component
import org.springframework.web.server.ResponseStatusException
import org.springframework.web.server.ServerWebExchange
import org.springframework.web.util.UriUtils
import reactor.core.publisher.Mono

/** Checks the token, fetches the profile of the member whose id is in it, and passes it on in headers. */
@Component
class MemberFilter(private val tokens: Tokens, private val profiles: ProfileClient) : GatewayFilter {
    override fun filter(exchange: ServerWebExchange, chain: GatewayFilterChain): Mono<Void> =
        bearer(exchange)
            .flatMap(tokens::memberId)
            .flatMap { profiles.of(it, exchange.getRequiredAttribute<Route>(GATEWAY_ROUTE_ATTR).id) }
            .flatMap { chain.filter(exchange.of(it)) }

    private fun bearer(exchange: ServerWebExchange): Mono<String> {
        val header = exchange.request.headers.getFirst(HttpHeaders.AUTHORIZATION).orEmpty()
        if (!header.startsWith(SCHEME, ignoreCase = true)) return Mono.error(unauthorized("there is no bearer token"))
        return Mono.just(header.substring(SCHEME.length).trim())
    }

    private fun ServerWebExchange.of(member: MemberProfile): ServerWebExchange =
        mutate().request { request ->
            request.header(MemberHeaders.ID, "${member.id}")
            request.header(MemberHeaders.EMAIL, encoded(member.email))
            request.header(MemberHeaders.NICKNAME, encoded(member.nickname))
            member.profileImage?.let { request.header(MemberHeaders.IMAGE, encoded(it)) }
        }.build()

    /** A header has no letters beyond ASCII. */
    private fun encoded(text: String) = UriUtils.encode(text, StandardCharsets.UTF_8)

    private companion object {
        const val SCHEME = "Bearer "
    }
}

fun unauthorized(message: String, cause: Throwable? = null) =
    ResponseStatusException(HttpStatus.UNAUTHORIZED, message, cause)
