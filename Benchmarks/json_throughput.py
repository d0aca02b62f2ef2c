"""How fast is the JSON of 200 records read and written, without a server around it?"""

import json
import os
import subprocess

from harness import machine, report

SECONDS = 3
SECONDS_QUICK = 1
READ_MEGABYTES_MIN = 150
WRITE_MEGABYTES_MIN = 400


def ask(bench):
    machine.wait_for_quiet(bench.quiet_seconds_max)
    result = json.loads(subprocess.run(
        [os.path.join(bench.tools, "NacreJSONThroughput"), str(SECONDS_QUICK if bench.quick else SECONDS)], check=True, stdout=subprocess.PIPE).stdout)
    bench.say(str(result))
    return report.Answer([
        line("JSON: a request of 200 records is read", result["request_read"], READ_MEGABYTES_MIN),
        line("JSON: an answer of 200 records is read", result["answer_read"], READ_MEGABYTES_MIN),
        line("JSON: an answer of 200 records is written", result["answer_write"], WRITE_MEGABYTES_MIN),
    ])


def line(what, megabytes, least):
    return report.Line(what, "MB/s", megabytes, targets=[report.Target(f"≥ {least} MB/s", megabytes >= least)])
