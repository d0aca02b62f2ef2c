"""Does a backup of a large database hold up those who write meanwhile?"""

import os
import subprocess
import threading

from harness import nacre, records, report
from single_creates import NACRE, Runs

RECORDS, RECORDS_QUICK = 1_000_000, 50_000
CONNECTIONS = 16
TIMES_MAX = 2

WHERE_THE_TIME_GOES = """\
**Backups.** A backup reads one snapshot in slices of 256 KiB and writes them to a file of its own, on a thread that the processor serves last, so a writer waits for it only where the disk does. The log keeps what is written
meanwhile."""


class Backups:
    """Makes backups one after another until it is told to stop."""

    def __init__(self, bench, server):
        self.bench, self.server, self.made, self.is_over = bench, server, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def run(self):
        path = self.bench.path("bench.backup")
        while not self.is_over.is_set():
            if os.path.exists(path):
                os.remove(path)
            subprocess.run([self.server.binary, "backup", "create", path, "--data", self.server.folder], check=True, capture_output=True)
            self.made += 1


def ask(bench):
    count = RECORDS_QUICK if bench.quick else RECORDS
    server = bench.nacre(records=count)
    run = Runs(bench, CONNECTIONS)

    def creates():
        return run(server, NACRE, server.token, path=server.path("records/modify"), zone=nacre.ZONE, fields=records.NACRE_FIELDS)

    creates()
    alone = [creates() for _ in range(3)]
    with Backups(bench, server) as backups:
        beside = [creates() for _ in range(3)]
    p99_alone, p99_beside = (sorted(sample.p99 for sample in samples)[1] / 1000 for samples in (alone, beside))
    bench.say(f"p99 {p99_alone:.1f} ms alone, {p99_beside:.1f} ms beside {backups.made} backups")
    target = report.Target(f"≤ {TIMES_MAX}× of without: {p99_alone:.1f} ms", p99_beside <= TIMES_MAX * p99_alone)
    line = report.Line(
        f"p99 of a create while {count:,} records are backed up, {CONNECTIONS} connections", "ms", p99_beside, targets=[target],
        foreign=max(sample.foreign_share for sample in alone + beside))
    return report.Answer([line])
