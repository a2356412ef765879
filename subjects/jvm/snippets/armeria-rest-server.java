import com.linecorp.armeria.server.Server;

class RestServers {
    /** Builds a server for HTTP/1.1 and HTTP/2; start().join() starts it. A service is a class with @Post methods. */
    static Server of(Object service, int port) {
        return Server.builder().http(port).annotatedService(service).build();
    }
}
