import io.grpc.BindableService;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import java.util.concurrent.Executors;

class Servers {
    /** Builds a server; start() starts it. By default, the library creates a thread for each call that is in progress. */
    static Server of(BindableService service, int port, int threads) {
        // Daemons, so that they do not keep the program running after the server has stopped.
        var executor = Executors.newFixedThreadPool(threads, task -> {
            var thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
        return ServerBuilder.forPort(port)
            .executor(executor)
            .addService(service)
            .build();
    }
}
