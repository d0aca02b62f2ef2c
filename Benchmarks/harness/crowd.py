"""Who asks beside others: one who behaves and measures what it waits for, and one who wants as much as there is. Each is a process of its own, so that none takes
the interpreter from another."""

import functools
import http.client
import json
import multiprocessing
import os
import signal
import threading
import time

from . import client, nacre

CONTEXT = multiprocessing.get_context("fork")
# Between an answer and the next request.
PAUSE_SECONDS = 0.005
# One who wants much has begun within this.
BEGUN_SECONDS_MAX = 120
REFUSED_PAUSE_SECONDS = 0.1
HEALTH_PAUSE_SECONDS = 0.05


class Neighbour:
    """Looks a record up, saves one at a time, asks how the server is, and remembers how long each answer took and what was said to be saved, from `begin` to
    `end`. To be made before this process has threads."""

    def __init__(self, server, more=None, pause=PAUSE_SECONDS):
        """`more`: other questions, {what: (seconds of pause, function of a number)}."""
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=live, args=(server, more or {}, pause, theirs), daemon=True)
        self.process.start()
        self.saved = []

    def begin(self):
        self.pipe.send("begin")

    def end(self):
        """How many milliseconds the answers took, {what: sorted}, and what failed."""
        self.pipe.send("end")
        took, saved, faults = self.pipe.recv()
        self.saved += saved
        return took, faults

    def measured(self, seconds):
        self.begin()
        time.sleep(seconds)
        return self.end()

    def leave(self):
        self.pipe.close()
        self.process.terminate()
        self.process.join()


def hundredth(times):
    """Where the hundredth part of the answers that took longest begins."""
    return times[len(times) * 99 // 100] if times else float("inf")


def saving(name):
    operation = {"operationType": "forceReplace", "record": {"recordName": name, "recordType": "Note", "fields": {"text": {"value": name}}}}
    return {"zoneID": {"zoneName": nacre.ZONE}, "operations": [operation]}


def live(server, more, pause, pipe):
    looking = json.dumps({"zoneID": {"zoneName": nacre.ZONE}, "records": [{"recordName": "known"}]})
    saved = []

    def questions():
        """On connections that are kept; the server's health on a new one each time, because who is new must be let in, too."""
        lookups, saves = (client.Client("127.0.0.1", server.port, server.token) for _ in range(2))

        def look(_):
            lookups.raw("POST", server.path("records/lookup"), looking)

        def save(_):
            name = f"s{len(saved)}"
            saves.raw("POST", server.path("records/modify"), json.dumps(saving(name)))
            saved.append(name)

        def health(number):
            asker = client.Client("127.0.0.1", server.port)
            try:
                asker.raw("GET", ("/healthz", "/readyz")[number % 2])
            finally:
                asker.close()

        return {"lookups": (pause, look), "saves": (pause, save), "health": (max(pause, HEALTH_PAUSE_SECONDS), health)} | more

    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        first = len(saved)
        asked = questions()
        took, faults, stopped = {what: [] for what in asked}, [], threading.Event()

        def ask(what):
            seconds, question = asked[what]
            while not stopped.is_set():
                start = time.monotonic()
                try:
                    question(len(took[what]))
                except (client.Refused, OSError, http.client.HTTPException) as error:
                    faults.append(f"one of the {what} failed after {time.monotonic() - start:.1f} s: {error!r}")
                    return
                took[what].append((time.monotonic() - start) * 1000)
                stopped.wait(seconds)

        threads = [threading.Thread(target=ask, args=(what,)) for what in asked]
        for thread in threads:
            thread.start()
        pipe.recv()
        stopped.set()
        for thread in threads:
            thread.join()
        pipe.send(({what: sorted(times) for what, times in took.items()}, saved[first:], faults))


class Greedy:
    """One who wants as much as there is: `work(sockets)` begins with all of it and returns, and it goes on until `end`. It has little right to the
    processor, because its computer is another one."""

    def __init__(self, work):
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=self.live, args=(work, theirs), daemon=True)
        self.process.start()

    def begun(self):
        """Waits until all of it has begun; its connections."""
        if not self.pipe.poll(BEGUN_SECONDS_MAX):
            raise RuntimeError(f"had not begun after {BEGUN_SECONDS_MAX} s")
        return self.pipe.recv()

    def end(self):
        self.process.kill()
        self.process.join()

    @staticmethod
    def live(work, pipe):
        os.nice(10)
        sockets = []
        work(sockets)
        pipe.send(len(sockets))
        while True:
            signal.pause()


def in_background(sockets, work):
    """A thread that has one connection at a time."""
    sockets.append(None)
    threading.Thread(target=work, daemon=True).start()


def send_for_ever(server, sockets, endpoint, bodies, count):
    """So many connections, each of which asks again as soon as it is answered. `bodies` makes a body of the connection's number and the request's.
    Refusals are answers; who is refused waits for a moment, because a refusal costs it more than the server."""
    def work(number):
        turn = 0
        while True:
            asker = client.Client("127.0.0.1", server.port, server.token)
            try:
                while True:
                    turn += 1
                    try:
                        asker.raw("POST", server.path(endpoint), bodies(number, turn))
                    except client.Refused:
                        time.sleep(REFUSED_PAUSE_SECONDS)
            except (OSError, http.client.HTTPException):
                asker.close()
                time.sleep(REFUSED_PAUSE_SECONDS)

    for number in range(count):
        in_background(sockets, functools.partial(work, number))


def batch(number, turn, size):
    """New records of 200 bytes, for `send_for_ever`."""
    record = '{"operationType":"create","record":{"recordName":"b%d-%d-%d","recordType":"Note","fields":{"text":{"value":"' + "x" * 200 + '"}}}}'
    operations = ",".join(record % (number, turn, place) for place in range(size))
    return '{"zoneID":{"zoneName":"%s"},"operations":[%s]}' % (nacre.ZONE, operations)
