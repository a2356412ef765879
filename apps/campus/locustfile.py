"""The users of campus. Each logs in once as a member of its own, then searches members and reads the feed.

A search comes four times for each feed, as often as the published measurement had answers of each. CAMPUS_THINK is the mean
pause between an answer and the user's next request, in seconds; without it a user asks again at once, as there.
`--tags search` or `--tags feed` has users who do only one of the two.
"""

import itertools
import os
import random

from locust import FastHttpUser, tag, task

MEMBERS = 100
PASSWORD = "campus-2024"
LETTERS = [first + second for first in "bcdfghjklmnpqrstvwxz" for second in "aeiou"]
THINK = float(os.environ.get("CAMPUS_THINK", "0"))

_order = list(range(1, MEMBERS + 1))
random.Random(2024).shuffle(_order)
_numbers = itertools.count()


class Member(FastHttpUser):
    # Longer than the application's own limits.
    connection_timeout = 15.0
    network_timeout = 15.0

    def wait_time(self):
        return self.random.expovariate(1 / THINK) if THINK > 0 else 0

    def on_start(self):
        number = next(_numbers)
        self.random = random.Random(number)
        member = {"email": f"m{_order[number % MEMBERS]}@uni.edu", "password": PASSWORD}
        response = self.client.post("/login", json=member, name="login")
        # A log-in is expensive on purpose (BCrypt), and many at once can take too long.
        while response.status_code != 200:
            response = self.client.post("/login", json=member, name="login")
        self.headers = {"Authorization": f"Bearer {response.json()['token']}"}

    @tag("search")
    @task(4)
    def search(self):
        self.client.get(f"/members?nickname={self.random.choice(LETTERS)}", headers=self.headers, name="search")

    @tag("feed")
    @task(1)
    def feed(self):
        self.client.get("/feed", headers=self.headers, name="feed")
