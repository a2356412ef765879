package campus.follow

import org.springframework.boot.autoconfigure.SpringBootApplication
import org.springframework.boot.context.properties.ConfigurationPropertiesScan
import org.springframework.boot.runApplication

@SpringBootApplication(proxyBeanMethods = false, scanBasePackages = ["campus.follow", "campus.service"])
@ConfigurationPropertiesScan("campus.service")
class FollowService

fun main(args: Array<String>) {
    runApplication<FollowService>(*args)
}
