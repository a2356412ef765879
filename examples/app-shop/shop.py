"""The shop: offers the catalogue's products, with prices."""

import http.client
import json
import os
import sys
import threading
import time

import service

CATALOGUE = os.environ["CATALOGUE"]
KEPT = {"kept": True, "per-call": False}[os.environ["CONNECTIONS"]]
MARGIN_PERCENT = 10
PAGE = 5

local = threading.local()


def call(path):
    """Calls the catalogue: over this thread's connection, or a new one."""
    connection = getattr(local, "connection", None)
    if connection is None:
        connection = http.client.HTTPConnection(CATALOGUE, timeout=10)
        if KEPT:
            local.connection = connection
    connection.request("GET", path, headers={} if KEPT else {"connection": "close"})
    response = connection.getresponse()
    body = response.read()
    if not KEPT:
        connection.close()
    return response.status, body


def offer(product, page):
    begin = time.perf_counter()
    status, body = call(f"/products/{product}")
    service.METRICS.add("catalogue_call_seconds", time.perf_counter() - begin, f'{{page="{page}"}}')
    service.METRICS.add("catalogue_payload_bytes", len(body))
    if status != 200:
        return status, {"error": "no such offer"}
    found = json.loads(body)
    price = found["cost"] * (100 + MARGIN_PERCENT) // 100
    return 200, {"id": found["id"], "name": found["name"], "price": price, "in_stock": found["stock"] > 0}


def offers(product):
    status, found = offer(product, page="no")
    return status, {**found, "time": time.time()} if status == 200 else found


def pages(first):
    if not first.isdigit():
        return 400, {"error": "a page begins with the number of a product"}
    found = [offer(number, page="yes") for number in range(int(first), int(first) + PAGE)]
    return 200, {"offers": [body for status, body in found if status == 200]}


service.serve(sys.argv[1], {"offers": offers, "pages": pages})
