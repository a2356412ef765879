"""The catalogue: name, cost and stock of each product."""

import sys
import time

import service

PRODUCTS = 1000
DELAY_S = int(sys.argv[2]) / 1000


def products(product):
    if DELAY_S:
        time.sleep(DELAY_S)
    if not product.isdigit() or int(product) >= PRODUCTS:
        return 404, {"error": "no such product"}
    number = int(product)
    return 200, {"id": number, "name": f"product {number}", "cost": 900 + 7 * number, "stock": number % 13}


service.serve(sys.argv[1], {"products": products})
