package campus.user

import org.springframework.boot.autoconfigure.SpringBootApplication
import org.springframework.boot.context.properties.ConfigurationPropertiesScan
import org.springframework.boot.runApplication

@SpringBootApplication(proxyBeanMethods = false, scanBasePackages = ["campus.user", "campus.service"])
@ConfigurationPropertiesScan("campus.user", "campus.service")
class UserService

fun main(args: Array<String>) {
    runApplication<UserService>(*args)
}
