package campus.post

import org.springframework.boot.autoconfigure.SpringBootApplication
import org.springframework.boot.context.properties.ConfigurationPropertiesScan
import org.springframework.boot.runApplication

@SpringBootApplication(proxyBeanMethods = false, scanBasePackages = ["campus.post", "campus.service"])
@ConfigurationPropertiesScan("campus.post", "campus.service", "campus.contract")
class PostService

fun main(args: Array<String>) {
    runApplication<PostService>(*args)
}
