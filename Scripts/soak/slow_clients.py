"""slowhttptest's slow clients: slow headers (slowloris), slow bodies, slow reading, while normal requests are answered."""

import os
import re
import shutil
import subprocess

from harness import machine
from soaking import Fault, Skipped, Witness

# Of the soak's seconds, for each kind of slowness; the header deadline of ten seconds should be met.
SHARE = 0.03
SECONDS_LEAST = 15
CONNECTIONS = 500
CONNECTIONS_PER_SECOND = 200
# Resident megabytes with so many slow clients: an idle server has less than half of it.
MEMORY_MEGABYTES_MAX = 150

# The tool's flags: its mode, seconds between pieces, and what a piece is.
KINDS = {
    "slow headers": ["-H", "-i", "2", "-x", "24"],
    "slow bodies": ["-B", "-i", "2", "-s", "60000", "-x", "10", "-f", "application/json"],
    "slow reading": ["-X", "-k", "10", "-n", "2", "-w", "8", "-y", "16", "-z", "4"],
}


def run(soak):
    install()
    seconds = max(SECONDS_LEAST, round(soak.seconds * SHARE))
    soak.want_descriptors(2 * CONNECTIONS + 100)
    server = soak.start_server()
    texts = []
    for name, flags in KINDS.items():
        url = f"http://127.0.0.1:{server.port}" + (server.path("records/lookup") if name == "slow bodies" else "/readyz")
        machine.forget_peak(server.pid)
        with Witness(server) as witness:
            status, output = soak.command(
                ["slowhttptest", "-c", str(CONNECTIONS), "-r", str(CONNECTIONS_PER_SECOND), "-l", str(seconds), "-p", "5", "-u", url, *flags],
                seconds + 60)
        # It colours its report.
        available = re.findall(r"service available:\s+(\S+)", re.sub(r"\x1b\[[0-9;]*m", "", output))
        if status != 0 or not available:
            raise Fault(f"{name}: slowhttptest ended with {status}; see {soak.log_path}")
        if available[-1] != "YES":
            raise Fault(f"{name}: slowhttptest's own probe was not answered; see {soak.log_path}")
        texts.append(f"{name}: {witness.verdict()}")
        peak = machine.peak_megabytes(server.pid)
        if peak > MEMORY_MEGABYTES_MAX:
            raise Fault(f"{name}: {peak:.0f} MB resident, and {MEMORY_MEGABYTES_MAX} are allowed")
    return f"{CONNECTIONS} clients, {seconds} s each kind; " + "; ".join(texts)


def install():
    """Debian's slowhttptest, unless it is there."""
    if shutil.which("slowhttptest"):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Skipped("slowhttptest is not installed: sudo apt-get install slowhttptest")
    done = subprocess.run(
        ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends", "slowhttptest"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, check=False)
    if done.returncode != 0 or not shutil.which("slowhttptest"):
        raise Skipped("slowhttptest cannot be installed")
