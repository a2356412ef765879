package campus.gateway

import campus.contract.MemberHeaders
import org.springframework.boot.context.properties.ConfigurationProperties
import org.springframework.cloud.gateway.route.RouteLocator
import org.springframework.cloud.gateway.route.builder.GatewayFilterSpec
import org.springframework.cloud.gateway.route.builder.RouteLocatorBuilder
import org.springframework.cloud.gateway.route.builder.filters
import org.springframework.cloud.gateway.route.builder.routes
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.http.HttpMethod

@ConfigurationProperties("campus.routes")
data class RouteSettings(val user: String, val post: String)

/** What users can ask for; all but a log-in needs a token. Inner paths have no route. */
@Configuration(proxyBeanMethods = false)
class Routes(private val settings: RouteSettings, private val member: MemberFilter) {
    @Bean
    fun routeLocator(builder: RouteLocatorBuilder): RouteLocator = builder.routes {
        route("login") {
            method(HttpMethod.POST) and path("/login")
            filters { withoutMemberHeaders() }
            uri(settings.user)
        }
        route("search") {
            method(HttpMethod.GET) and path("/members")
            filters { withoutMemberHeaders().filter(member) }
            uri(settings.user)
        }
        route("feed") {
            method(HttpMethod.GET) and path("/feed")
            filters { withoutMemberHeaders().filter(member) }
            uri(settings.post)
        }
    }

    private fun GatewayFilterSpec.withoutMemberHeaders(): GatewayFilterSpec =
        MemberHeaders.ALL.fold(this) { spec, header -> spec.removeRequestHeader(header) }
}
