"""A run of the benchmarks: its folders and binaries, its rounds, and the rule that all sides take turns."""

import json
import os
import shutil
import sqlite3
import statistics
import sys
import time

from . import ceiling, machine, nacre, pocketbase, records as samples


class Bench:
    def __init__(self, root, nacre_binary, tools, pocketbase_binary, quick):
        self.root, self.nacre_binary, self.tools, self.pocketbase_binary = root, nacre_binary, tools, pocketbase_binary
        self.quick = quick
        self.rounds = 1 if quick else 3
        self.seconds = 1 if quick else 3
        self.quiet_seconds_max = 3 if quick else 20
        self.home = os.path.join(root, ".build/bench")
        self.folder = os.path.join(self.home, "data")
        os.makedirs(self.home, exist_ok=True)
        self.ceiling_binary = ceiling.build(os.path.join(root, "Benchmarks/ceiling/ceiling.c"), self.home)
        self.servers = []

    def begin(self, question):
        """A clean folder for a question."""
        self.question = question
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def end(self):
        for server in self.servers:
            server.stop()
        self.servers = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def say(self, text):
        print(f"{self.question}: {text}", file=sys.stderr, flush=True)

    # Servers

    def nacre(self, records=0, name="nacre", options=()):
        server = nacre.Nacre(self.nacre_binary, self.path(name), options=options)
        self.servers.append(server)
        server.make_user()
        # As PocketBase's collection: no field is indexed.
        server.define("Note", json.loads(samples.NACRE_FIELDS), {})
        server.seed(records)
        # Hashing a password takes 64 MB for a moment, which says nothing about load.
        machine.forget_peak(server.pid)
        return server

    def pocketbase(self, records=0, name="pocketbase"):
        server = pocketbase.PocketBase(self.pocketbase_binary, self.path(name))
        self.servers.append(server)
        server.make_collection()
        server.seed(records)
        machine.forget_peak(server.pid)
        return server

    def ceiling(self, server):
        """The ceiling on a copy of what a server wrote."""
        if not server.record_count():
            server.seed(nacre.BATCH)
        with sqlite3.connect(f"file:{server.folder}/nacre.sqlite?mode=ro", uri=True) as source, sqlite3.connect(self.path("raw.sqlite")) as copy:
            source.backup(copy)
        return ceiling.Ceiling(self.ceiling_binary, self.path("raw.sqlite"))

    # Rounds

    def take_turns(self, sides, rounds=None):
        """Runs each side once a round, each when the machine is quiet, and returns all samples by name. A first short round is thrown away."""
        samples = {name: [] for name in sides}
        for turn in range(rounds or self.rounds):
            for name, run in sides.items():
                machine.wait_for_quiet(self.quiet_seconds_max)
                sample = run()
                samples[name].append(sample)
                self.say(f"round {turn + 1}, {name}: {sample.per_second:,.0f}/s, {sample.cpu_microseconds:.1f} µs of CPU each, "
                         f"{sample.foreign_share:.0%} of the cores in foreign hands")
        return samples

    def memory(self, server):
        """Resident megabytes after load: at once, the most there was, and after five seconds of rest."""
        now, peak = machine.resident_megabytes(server.pid), machine.peak_megabytes(server.pid)
        time.sleep(5)
        return {"server": server.name, "after": now, "peak": peak, "rested": machine.resident_megabytes(server.pid)}


def median(samples, attribute="per_second"):
    return statistics.median(getattr(sample, attribute) for sample in samples)
