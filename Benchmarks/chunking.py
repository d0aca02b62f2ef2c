"""How fast are files cut into chunks and their chunks hashed, on one core, without a server around it?"""

import json
import os
import subprocess

from harness import machine, report

SECONDS = 3
SECONDS_QUICK = 1
MEGABYTES_MIN = 600


def ask(bench):
    machine.wait_for_quiet(bench.quiet_seconds_max)
    result = json.loads(subprocess.run(
        [os.path.join(bench.tools, "NacreChunking"), str(SECONDS_QUICK if bench.quick else SECONDS)], check=True, stdout=subprocess.PIPE).stdout)
    bench.say(str(result))
    return report.Answer([
        report.Line("files: cut into chunks", "MB/s", result["cut"]),
        report.Line("files: hashed", "MB/s", result["hashed"]),
        report.Line("files: cut and hashed", "MB/s", result["both"],
                    targets=[report.Target(f"≥ {MEGABYTES_MIN} MB/s a core", result["both"] >= MEGABYTES_MIN)])])
