"""How large is an app that uses the framework, and what does it load?

The app is `NacreSmallApp`, the README's first save, as a release binary without its symbols. Beside it stands the same app built in the same run with
URLSession in place of the framework's own transport (`NACRE_URLSESSION=1`), which is part of Foundation and costs the binary nothing.
"""

import os
import subprocess

from harness import report

WHERE_THE_TIME_GOES = """\
**An app's binary.** The framework's transport is 87 KB of code in the app, with tables for unwinding and relocation beside it; URLSession's code is a library's, of 1.8 MB, that the app no
longer loads. What an app never does is not in it: reading requests and writing answers is a module of the server's. Half of what is left is the framework's own code."""

APP = "NacreSmallApp"
# What it had before the framework had a transport of its own: it shall not grow.
BYTES_MAX = 2_175_360


def ask(bench):
    ours, other = (look(bench, folder) for folder in (bench.tools, os.path.join(bench.home, "urlsession/release")))
    bench.say(f"{ours['bytes']:,} bytes and {ours['loaded'] / 1e6:.1f} MB of libraries; with URLSession {other['bytes']:,} and {other['loaded'] / 1e6:.1f} MB")
    megabytes = ours["bytes"] / 1e6
    return report.Answer(
        [report.Line(
            "framework: an app's stripped release binary", "MB", megabytes,
            targets=[report.Target(f"≤ the {report.figure(BYTES_MAX / 1e6)} MB before it had a transport of its own", ours["bytes"] <= BYTES_MAX)])],
        remarks=[f"An app's release binary has {ours['bytes']:,} bytes, and {other['bytes']:,} with URLSession; it loads {ours['count']} libraries of "
                 f"{ours['loaded'] / 1e6:.1f} MB, and {other['count']} of {other['loaded'] / 1e6:.1f} MB with URLSession."])


def look(bench, folder):
    """Bytes of the stripped binary, and of all libraries that it loads."""
    stripped = bench.path("stripped")
    subprocess.run(["strip", "-o", stripped, os.path.join(folder, APP)], check=True)
    listed = subprocess.run(["ldd", stripped], check=True, stdout=subprocess.PIPE, text=True).stdout
    libraries = [line.split()[2] for line in listed.splitlines() if "=> /" in line]
    return {"bytes": os.path.getsize(stripped), "count": len(libraries), "loaded": sum(os.path.getsize(path) for path in libraries)}
