"""Does each side sync the disk before it answers? Counted by strace, one create after another: a commit that is not synced would be cheap."""

import re
import shutil
import signal
import subprocess
import time

from harness import nacre, records, report

CREATES = 50


def ask(bench):
    if shutil.which("strace") is None:
        return report.Answer(remarks=["Syncs were not counted: strace is not installed."])
    server, other = bench.nacre(), bench.pocketbase()
    ours = syncs(server, lambda number: server.client.raw("POST", server.path("records/modify"), (
        '{"zoneID":{"zoneName":"%s"},"operations":[{"operationType":"create","record":{"recordName":"d%d","recordType":"Note","fields":%s}}]}'
        % (nacre.ZONE, number, records.NACRE_FIELDS))))
    theirs = syncs(other, lambda number: other.client.raw(
        "POST", "/api/collections/notes/records", "{%s}" % records.POCKETBASE_FIELDS))
    for name, count in (("nacre", ours), ("PocketBase", theirs)):
        if count < CREATES:
            raise RuntimeError(f"{name} synced the disk {count} times for {CREATES} creates")
    remark = f"Syncs of the disk for {CREATES} creates, one after another: nacre {ours}, PocketBase {theirs}."
    bench.say(remark)
    return report.Answer(remarks=[remark])


def syncs(server, create):
    tracer = subprocess.Popen(
        ["strace", "-f", "-e", "trace=fdatasync,fsync", "-p", str(server.pid)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    # The first line says that it is attached.
    tracer.stderr.readline()
    time.sleep(0.2)
    for number in range(CREATES):
        create(number)
    tracer.send_signal(signal.SIGINT)
    return len(re.findall(r"f(?:data)?sync\(", tracer.communicate()[1]))
