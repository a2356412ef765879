import com.linecorp.armeria.client.WebClient;

class RestClients {
    /** Returns the one client for all calls of the process: to("http://shop:8080"), or h1c://shop:8080 for HTTP/1.1. */
    static WebClient to(String uri) {
        return WebClient.of(uri);
    }
}
