package campus.gateway

import org.springframework.boot.autoconfigure.SpringBootApplication
import org.springframework.boot.context.properties.ConfigurationPropertiesScan
import org.springframework.boot.runApplication

@SpringBootApplication(proxyBeanMethods = false)
@ConfigurationPropertiesScan("campus.gateway", "campus.contract")
class GatewayService

fun main(args: Array<String>) {
    runApplication<GatewayService>(*args)
}
