"""Sends load to campus, sends every query of the dashboard to its Prometheus, and compares the results with rpcgauge's
own figures for the same time. Usage: test-campus.py RPCGAUGE
"""

import json
import math
import re
import signal
import subprocess
import sys
import time
import tomllib
import urllib.parse
import urllib.request

USERS = 20
# Covers the whole load, from before its first request until after its last.
WINDOW = "[60s]"
# The allowed ratio of Prometheus's figure to rpcgauge's, by the beginning of a panel's title.
# Users log in and begin their first tasks before rpcgauge starts to count. Prometheus includes these requests and their
# waits, which are the longest of all, because the connection pools are still being filled; the usual mean is microseconds.
# Prometheus extrapolates by up to half a scrape at each end, and differently for a sum and a count near zero.
TOLERANCE = [("Requests per second", 0.8, 1.2), ("Waiting for ", 0.67, 10), ("", 0.9, 1.1)]

RATE = re.compile(r"rate\((?P<metric>\w+?)(?P<what>_sum|_count|)\{job=\"(?P<job>\w+)\"")
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "kB": 1e3}


def get(url):
    with urllib.request.urlopen(url, timeout=30) as response:
        return response.read().decode()


def ask(prometheus, query):
    """Returns the series of a query, each with its labels and its value."""
    asked = f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    result = json.loads(get(asked))["data"]["result"]
    return [(series["metric"], float(series["value"][1])) for series in result]


def table(said, head):
    """Returns the rows of a table printed by rpcgauge, by their first column."""
    lines = said.split(f"\n{head} ", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    rows = [re.split(r"  +", line) for line in lines if "  " in line]
    return {row[0]: row[1:] for row in rows}


def value(text):
    """Converts a figure with its unit to seconds or bytes."""
    number, unit = text.split()
    return float(number.replace(",", "")) * UNITS[unit]


def own_figures(said):
    """Yields each metric of app.toml with its count and its sum over the load."""
    with open("apps/campus/app.toml", "rb") as file:
        metrics = tomllib.load(file)["metrics"]
    rows = table(said, "within")
    seconds = float(re.search(r" users, ([0-9.]+) s, ", said)[1])
    for metric in metrics:
        if metric["title"] in rows:
            rate, mean = rows[metric["title"]]
            count = float(rate.replace(",", "")) * seconds
            yield metric, count, 0 if mean == "–" else count * value(mean)
        elif not metric.get("optional"):
            sys.exit(f"rpcgauge does not have {metric['title']}:\n{said}")


def compare(query, answers, own):
    """Yields the ratio of Prometheus's result to rpcgauge's figure for each series; infinity if only rpcgauge has it."""
    match = RATE.search(query)
    own = [one for one in own if (one[0]["service"], one[0]["metric"]) == (match["job"], match["metric"])]
    told_of = set()
    for labels, told in answers:
        same = [
            (metric["name"], count, total)
            for metric, count, total in own
            if all(labels.get(name, text) == text for name, text in metric.get("labels", {}).items())
        ]
        told_of.update(name for name, _, _ in same)
        count, total = sum(one[1] for one in same), sum(one[2] for one in same)
        if same and not count:
            yield 1.0 if math.isnan(told) else math.inf
        elif count:
            per_second = float(WINDOW[1:-2])
            yield told * per_second / count if match["what"] == "_count" else told / (total / count)
    # The series that only rpcgauge has.
    yield from (math.inf for metric, count, _ in own if count and metric["name"] not in told_of)


def check(said, queries):
    prometheus = re.search(r"^Prometheus: (http://\S+) ", said, re.M)
    if not prometheus:
        sys.exit(f"campus's Prometheus did not start:\n{said}")
    own = list(own_figures(said))
    compared, far = 0, []
    for title, query in queries:
        answers = ask(prometheus[1], query.replace("[1m]", WINDOW))
        if not answers:
            sys.exit(f"{title}: the query returned no series: {query}")
        if not RATE.search(query):
            continue
        ratios = list(compare(query, answers, own))
        if not ratios:
            sys.exit(f"{title}: rpcgauge has no figure for {query}")
        compared += len(ratios)
        lowest, highest = next(bounds for prefix, *bounds in TOLERANCE if title.startswith(prefix))
        outside = (one for one in ratios if not lowest <= one <= highest)
        far += [f"{title}: Prometheus's figure is {one:.3f} times rpcgauge's: {query}" for one in outside]
    if far:
        sys.exit("\n".join([said, *far]))
    print(f"campus: {len(queries)} queries of its dashboard have results; {compared} of their figures match rpcgauge's own")


def main():
    with open("apps/campus/grafana/campus.json") as file:
        panels = [panel for panel in json.load(file)["panels"] if "targets" in panel]
    queries = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]
    load = ["app", "load", "campus", "--set", "calls=grpc", "--users", str(USERS), "--duration", "20s"]
    # Without a warm-up, rpcgauge's figures include nearly all requests, as Prometheus's do.
    app = subprocess.Popen([sys.argv[1], *load, "--warm-up", "1ms", "--stay"], stdout=subprocess.PIPE, text=True)
    try:
        said = ""
        for line in app.stdout:
            said += line
            if line.startswith("Press Ctrl-C"):
                break
        else:
            sys.exit(f"campus did not keep running:\n{said}")
        # Gives Prometheus time to scrape the last requests.
        time.sleep(3)
        check(said, queries)
    finally:
        app.send_signal(signal.SIGINT)
        ended = app.wait(60)
    if ended:
        sys.exit(f"rpcgauge exited with {ended}:\n{said}")


main()
