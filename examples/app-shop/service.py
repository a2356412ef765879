"""What both services share: an HTTP server that keeps connections, and metrics in Prometheus's text format."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Metrics:
    """Sums and counts by name and labels."""

    def __init__(self):
        self.lock = threading.Lock()
        self.values = {}

    def add(self, name, value, labels=""):
        with self.lock:
            total, count = self.values.get((name, labels), (0.0, 0))
            self.values[name, labels] = total + value, count + 1

    def text(self):
        with self.lock:
            values = sorted(self.values.items())
        lines = []
        for (name, labels), (total, count) in values:
            lines += [f"{name}_sum{labels} {total!r}", f"{name}_count{labels} {count}"]
        return "\n".join(lines) + "\n"


METRICS = Metrics()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve(port, routes):
    """Serves on loopback. A route's function gets the rest of the path and returns a status and a JSON body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept
        disable_nagle_algorithm = True
        wbufsize = -1  # head and body in one piece

        def do_GET(self):
            begin = time.perf_counter()
            if self.path == "/metrics":
                return self.respond(200, METRICS.text().encode(), "text/plain; version=0.0.4")
            name, _, rest = self.path.lstrip("/").partition("/")
            if name == "health":
                return self.respond(200, b"{}")
            if name not in routes:
                return self.respond(404, b'{"error": "no such path"}')
            status, body = routes[name](rest)
            # Counted before it is sent, so that a client that has the response finds it in the metrics.
            METRICS.add("handler_seconds", time.perf_counter() - begin, f'{{path="{name}"}}')
            self.respond(status, json.dumps(body).encode())

        def respond(self, status, body, content_type="application/json"):
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, *_):  # a line for each request is not what is measured
            pass

    Server(("127.0.0.1", int(port)), Handler).serve_forever()
