"""The raw ceiling: a C program on SQLite, on a copy of a file that Nacre made."""

import json
import os
import subprocess

from . import machine
from .load import Sample


class Ceiling:
    """Runs `ceiling` on one file."""

    name = "raw"

    def __init__(self, binary, path):
        self.binary, self.path = binary, path

    def run(self, work, seconds, size):
        """
        - work: creates, updates, lookups or pages
        - size: how many creates or updates one commit holds (1 request each), or records a batch or page has
        """
        before, children = machine.busy_seconds(), os.times()
        result = json.loads(subprocess.run(
            [self.binary, self.path, work, str(seconds), str(size)], check=True, stdout=subprocess.PIPE, text=True).stdout)
        after = os.times()
        own = after.children_user + after.children_system - children.children_user - children.children_system
        foreign = max(0.0, machine.busy_seconds() - before - own) / (result["seconds"] * machine.CORES)
        return Sample(result["units"] / result["seconds"], result["cpu_seconds"] * 1e6 / result["units"], foreign)


def build(source, into):
    binary = os.path.join(into, "ceiling")
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", binary, source, "-lsqlite3", "-lpthread"], check=True)
    return binary
