# A server whose responses become wrong. It forwards the number of calls in the first argument to the server whose
# command is the second argument, and all later calls to another server, which responds with fewer followers.
import http.client, http.server, json, subprocess, sys, threading

right_for, command = int(sys.argv[1]), sys.argv[2]
settings = json.loads(sys.stdin.readline())


def start(changes):
    process = subprocess.Popen([command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(json.dumps({**settings, **changes}).encode() + b"\n")
    process.stdin.flush()
    return process, json.loads(process.stdout.readline())["address"]


(right, right_address), (wrong, wrong_address) = start({}), start({"workload": {"name": "followers", "n": 2}})
lock, made = threading.Lock(), 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.upstream = [http.client.HTTPConnection(at) for at in (right_address, wrong_address)]

    def do_POST(self):
        global made
        with lock:
            upstream = self.upstream[made >= right_for]
            made += 1
        body = self.rfile.read(int(self.headers["content-length"]))
        upstream.request("POST", self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        body = answer.read()
        self.send_response_only(answer.status)
        for name in ("content-type", "rpcgauge-handler-start", "rpcgauge-handler-end"):
            if answer.getheader(name):
                self.send_header(name, answer.getheader(name))
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"contract": 1, "ready": True, "address": "127.0.0.1:%d" % server.server_port}), flush=True)
sys.stdin.read()
for process in (right, wrong):
    process.stdin.close()
    process.wait()
