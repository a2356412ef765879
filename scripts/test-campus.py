"""Starts campus, uses it, and asks its Prometheus every query of the dashboard: test-campus.py RPCGAUGE

The times and bytes of inner calls are held against the services' own sums and counts over the same time.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request

# Seconds in which Prometheus scrapes a few times.
SCRAPES = 4
MEAN = re.compile(r"rate\((?P<metric>fetch_\w+)_sum\{job=\"(?P<job>\w+)\"\}\[1m\]")


def get(url, token=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read().decode()


def request(gateway, token, times):
    for _ in range(times):
        get(f"http://{gateway}/members?nickname=ba", token)
        get(f"http://{gateway}/feed", token)


def total(address, metric):
    """The sum and the count of all series of a metric."""
    text = get(f"http://{address}/actuator/prometheus")
    return [
        sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{metric}_{what}[ {{]", line))
        for what in ("sum", "count")
    ]


def main():
    with open("apps/campus/grafana/campus.json") as file:
        panels = [panel for panel in json.load(file)["panels"] if "targets" in panel]
    queries = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]
    run = [sys.argv[1], "app", "up", "campus", "--set", "calls=grpc"]
    app = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)
    try:
        said = []
        for line in app.stdout:
            said.append(line)
            if line.startswith("Ctrl-C"):
                break
        else:
            sys.exit("campus did not start")
        use("".join(said), queries)
    finally:
        app.send_signal(signal.SIGINT)
        app.wait(60)


def use(said, queries):
    http = dict(re.findall(r"^ +(\w+) +http +(?:http://)?(\S+)", said, re.M))
    token = re.search(r"^ +token +(\S+)", said, re.M)[1]
    prometheus = re.search(r"^Prometheus: (http://\S+) ", said, re.M)
    if not prometheus:
        sys.exit("campus's Prometheus did not start" if shutil.which("prometheus") else "there is no prometheus")
    means = {query: (match["metric"], http[match["job"]]) for _, query in queries if (match := MEAN.search(query))}
    # The first ones are slow, and a scrape may come late.
    request(http["gateway"], token, 30)
    time.sleep(SCRAPES)
    start = time.monotonic()
    before = {query: total(address, metric) for query, (metric, address) in means.items()}
    request(http["gateway"], token, 100)
    after = {query: total(address, metric) for query, (metric, address) in means.items()}
    time.sleep(SCRAPES)
    # From a scrape before these requests, and after those of the checks.
    window = f"[{time.monotonic() - start + SCRAPES / 2:.0f}s]"
    for title, query in queries:
        asked = f"{prometheus[1]}/api/v1/query?{urllib.parse.urlencode({'query': query.replace('[1m]', window)})}"
        series = json.loads(get(asked))["data"]["result"]
        if not series:
            sys.exit(f"{title}: no series is the result of {query}")
        if query not in means:
            continue
        (sum0, count0), (sum1, count1) = before[query], after[query]
        own, told = (sum1 - sum0) / (count1 - count0), float(series[0]["value"][1])
        # Prometheus extrapolates by up to half a scrape, and not alike for a sum and a count that begin near zero.
        if abs(told / own - 1) > 0.05:
            sys.exit(f"{title}: Prometheus tells {told}, and the services {own}")
    print(f"campus: {len(queries)} queries of its dashboard have results; those of inner calls are the services' figures")


main()
