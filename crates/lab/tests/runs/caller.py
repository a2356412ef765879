# A client based on http.client and a codec based on json. The argument selects what goes wrong in measured slices,
# which skip calls, unlike slices of the warm-up.
import base64, http.client, json, os, struct, sys, time

fault = sys.argv[1]
asked = json.loads(sys.stdin.readline())


def records_of(settings):
    if fault == "fifo":
        os.mkfifo(settings["records"])
        return None
    return open(settings["records"], "wb", buffering=0)


def say(line):
    print(json.dumps(line), flush=True)


def tell(text):
    print(text, file=sys.stderr, flush=True)


class Client:
    made = 0

    def __init__(self, settings):
        self.settings, self.records = settings, records_of(settings)
        self.connection = http.client.HTTPConnection(settings["address"])

    def call(self, _):
        self.made += 1
        if fault == "pretends":
            begin = time.monotonic_ns()
            time.sleep(0.00001)
            return [begin, 0, 0, 0, 0, time.monotonic_ns(), 0, 0, 40, 2**32 - 1, 0, 1]
        if fault == "tenth":
            self.left = self.left or self.parts()
            return self.left.pop(0)
        requests = self.settings["requests"]
        return self.exchange(requests[self.made % len(requests)])

    def parts(self):
        """Makes one call and reports it as ten consecutive calls."""
        record = self.exchange(self.settings["requests"][0])
        part = (record[5] - record[0]) // 10
        begins = [record[0] + index * part for index in range(10)]
        return [[begin, 0, 0, 0, 0, begin + part, 0, 0, *record[8:]] for begin in begins]

    def exchange(self, request):
        begin = time.monotonic_ns()
        body = json.dumps(request).encode()
        encoded = time.monotonic_ns()
        head = {"content-type": "application/json", "accept": "application/json"}
        self.connection.request("POST", "/example/list", body, head)
        sent = time.monotonic_ns()
        answer = self.connection.getresponse()
        first = time.monotonic_ns()
        text = answer.read()
        received = time.monotonic_ns()
        self.message = json.loads(text)
        end = time.monotonic_ns()
        marks = [int(answer.getheader("rpcgauge-handler-" + mark, 0)) for mark in ("start", "end")]
        return [begin, encoded, sent, first, received, end, *marks, len(body), len(text), 0, 1]

    def verify(self):
        self.exchange(self.settings["requests"][0])
        if fault == "turns" and self.made > 0:
            self.message["response"].pop()
        return {"message": self.message}


class Codec:
    made = 0

    def __init__(self, settings):
        self.settings, self.records = settings, records_of(settings)

    def call(self, batch):
        self.made += batch
        begin = time.monotonic_ns()
        if fault == "instant":
            time.sleep(0.0001)  # Long enough for a batch to be a single operation.
        for _ in range(batch):
            text = json.dumps(self.settings["message"])
        end = time.monotonic_ns()
        return [begin, 0, 0, 0, 0, end, 0, 0, 2**32 - 1, len(text), 0, batch]

    def verify(self):
        message = {} if fault == "turns" and self.made > 0 else self.settings["message"]
        text = json.dumps(message).encode()
        return {"bytes": base64.b64encode(text).decode()}


Caller = Codec if asked["role"] == "codec" else Client
callers = [Caller(settings) for settings in asked.get("parts", [asked])]
ready = {"contract": 1, "ready": True, "versions": {"python": sys.version.split()[0]}}
if "parts" in asked:
    ready["parts"] = [{} for _ in callers]
say(ready)
for line in sys.stdin:
    ask = json.loads(line)
    caller = callers[ask.get("part", 0)]
    if "verify" in ask:
        say({"verified": caller.verify()})
        continue
    ask = ask["slice"]
    caller.left = []
    batch = ask.get("batch", 1)
    wrong = fault if ask["skip"] > 0 else None
    if wrong == "hangs":
        tell("thinking")
        time.sleep(1000)
    for _ in range(ask["skip"]):
        caller.call(batch)
    made, began, cpu = [], time.monotonic_ns(), time.process_time_ns()
    while True:
        made.append(caller.call(batch))
        took_us = (time.monotonic_ns() - began) / 1000
        if len(made) >= ask.get("calls", 2**60) or took_us >= ask.get("time_us", 2**60):
            break
    cpu = time.process_time_ns() - cpu
    if wrong == "shrinks":
        tell("leaving out the half")
        made[0][9] = 5
    if wrong == "overlaps":
        tell("doing all at once")
        made[-1][0:8] = [made[0][0], 0, 0, 0, 0, made[-1][5], 0, 0]
    if wrong == "backwards":
        tell("winding back")
        made[0][1:8] = [0, 0, 0, 0, made[0][0] - 1, 0, 0]
    if wrong == "instant":
        for record in made:
            record[0] = record[5] = made[0][0]
    packed = b"".join(struct.pack("<8Q4I", *record) for record in made)
    if wrong == "none":
        tell("nothing to tell")
        made = []
        packed = b""
    if wrong == "size":
        tell("saving bytes")
        packed = packed[:-8]
    caller.records.write(packed)
    done = {"records": len(made), "cpu_ns": cpu}
    if wrong == "many":
        tell("making a hole")
        done["records"] = 2**30
        caller.records.truncate(caller.records.tell() + 80 * (2**30 - len(made)))
    if wrong == "reopened":
        tell("opening doors")
        done["reopened"] = 2**64 - 1
    if wrong == "cpu":
        tell("thinking hard")
        done["cpu_ns"] = 219_000_000 * 10**9
    say({"slice": done})
    if wrong == "dies":
        tell("out of memory")
        sys.exit(9)
    if wrong == "goes-on":
        tell("one more")
        caller.records.write(struct.pack("<8Q4I", *caller.call(batch)))
