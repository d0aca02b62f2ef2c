"""A run of the soak: its seconds, its folders, and the processes that its parts start."""

import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time

from harness import client, nacre

# The length at which everything is done in full.
FULL_SECONDS = 3600
# How long a normal request may take while others misbehave. It takes a millisecond by itself. But a loop serves in turn, and may have two hundred
# answers of two megabytes to make first; on a machine with other work that was ten seconds. Less than any deadline of the server's against slow clients
# but the one for headers, so that one who waits for a slow client is seen.
ANSWER_SECONDS_MAX = 20


class Fault(Exception):
    """A part found what should not be."""


class Skipped(Exception):
    """A part cannot run here, and why."""


class Soak:
    def __init__(self, root, nacre_binary, seconds, seed, only=()):
        self.root, self.nacre_binary, self.seconds, self.only = root, nacre_binary, seconds, only
        self.seed = random.randrange(2**31) if seed is None else seed
        self.home = os.path.join(root, ".build/soak")
        os.makedirs(self.home, exist_ok=True)
        self.server = None

    def begin(self, part):
        self.part = part
        self.random = random.Random(f"{self.seed} {part}")
        self.log_path = os.path.join(self.home, part + ".log")
        open(self.log_path, "wb").close()

    def end(self):
        if self.server:
            self.server.stop()
            shutil.rmtree(self.server.folder, ignore_errors=True)
            self.server = None

    def share(self, full, least):
        """So many of what an hour has `full` of."""
        return max(least, round(full * min(self.seconds, FULL_SECONDS) / FULL_SECONDS))

    # Processes

    def command(self, arguments, seconds_max, **environment):
        """Runs a program to its end, its output into the part's log, and kills it and its children when it takes too long.

        Returns its status and what it wrote."""
        with open(self.log_path, "ab") as log:
            start = log.tell()
            # SWIFT_BACKTRACE: on a crash Swift's backtracer can hang a process for half an hour.
            process = subprocess.Popen(
                arguments, cwd=self.root, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                env=os.environ | {"SWIFT_BACKTRACE": "enable=no"} | {name: str(value) for name, value in environment.items()})
            try:
                status = process.wait(seconds_max)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(error, subprocess.TimeoutExpired):
                    raise Fault(f"{os.path.basename(arguments[0])} was not done after {seconds_max} s; see {self.log_path}") from None
                raise
        with open(self.log_path, "rb") as log:
            log.seek(start)
            return status, log.read().decode(errors="replace")

    # The server

    def start_server(self, records=0, **options):
        folder = os.path.join(self.home, "data")
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(self.nacre_binary):
            raise Skipped(f"there is no {self.nacre_binary}: Scripts/dist/binary builds it")
        self.server = nacre.Nacre(self.nacre_binary, folder, **options)
        self.server.make_user()
        self.server.seed(records)
        return self.server

    def want_descriptors(self, count):
        """Room for so many sockets here, and in the server, which inherits the limit."""
        allowed = self.most_descriptors(count)
        if allowed < count:
            raise Skipped(f"{count} descriptors are needed, and {allowed} are allowed")

    def most_descriptors(self, count):
        """Room for so many sockets, or as many as are allowed: how many those are."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft >= count:
            return count
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(hard, count) if hard != resource.RLIM_INFINITY else hard))
            return count
        except (ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            return hard


class Witness:
    """Somebody who behaves: asks a request at a time while others do not, and remembers how long the answers took."""

    def __init__(self, server, pause=0.05):
        self.server, self.pause = server, pause
        self.count, self.slowest, self.fault = 0, 0.0, None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def work(self):
        body = {"records": [{"recordName": "absent"}], "zoneID": {"zoneName": nacre.ZONE}}
        while not self.stopped.is_set():
            start = time.monotonic()
            try:
                # A connection of its own each time: who is new must be let in, too.
                asker = client.Client("127.0.0.1", self.server.port, self.server.token)
                asker.json("POST", self.server.path("records/lookup"), body)
                asker.close()
            except Exception as error:
                self.fault = f"a normal request failed after {time.monotonic() - start:.1f} s: {error!r}"
                return
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.count += 1
            self.stopped.wait(self.pause)

    def verdict(self):
        """What it saw, after it has stopped."""
        if self.fault:
            raise Fault(self.fault)
        if self.count == 0:
            raise Fault("no normal request was answered")
        if self.slowest > ANSWER_SECONDS_MAX:
            raise Fault(f"a normal request took {self.slowest:.1f} s, and {ANSWER_SECONDS_MAX} s are allowed")
        return f"{self.count} normal requests answered, the slowest in {self.slowest * 1000:.0f} ms"
