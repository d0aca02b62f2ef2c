"""What the machine does, read from /proc: the CPU and memory of a process, and how much others take."""

import hashlib
import os
import subprocess
import sys
import tempfile
import time

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CORES = len(os.sched_getaffinity(0))

# Less than this share of all cores in foreign hands counts as quiet.
QUIET_SHARE = 0.10


def cpu_seconds(pid):
    """User and system time of a process and all its threads so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def resident_megabytes(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * PAGE_BYTES / 1e6


def peak_megabytes(pid):
    """The most that was resident since the start, or since `forget_peak`."""
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def forget_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")


def busy_seconds():
    """CPU time that all cores together have spent on anything, steal included, since the machine started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND


def touch_memory(megabytes):
    """Uses so much memory, or half of what is free, and gives it back. What a virtual machine's kernel has used before, its host has given already: to write 10 MB of files into
    memory that nobody has used takes up to 25 ms more here, by chance on one side and not on the other."""
    megabytes = min(megabytes, os.sysconf("SC_AVPHYS_PAGES") * PAGE_BYTES >> 21)
    subprocess.run([sys.executable, "-c", f"b = bytearray({megabytes} << 20)\nfor place in range(0, len(b), 4096): b[place] = 1"], check=True)


def raw_rates(folder, seconds=1.0):
    """What the machine does by itself, so that figures of another one can be held beside these: a line."""
    block = os.urandom(4096)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        syncs, start = 0, time.monotonic()
        while time.monotonic() - start < seconds:
            file.write(block)
            os.fdatasync(file.fileno())
            syncs += 1
        per_second = syncs / (time.monotonic() - start)
    piece = os.urandom(1 << 20)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        start = time.monotonic()
        for _ in range(256):
            file.write(piece)
        os.fdatasync(file.fileno())
        written = 256 / (time.monotonic() - start)
    hashed, start = 0, time.monotonic()
    while time.monotonic() - start < seconds:
        hashlib.sha256(piece).digest()
        hashed += 1
    of_core = hashed / (time.monotonic() - start)
    return f"{per_second:,.0f} appends of 4 KB with a sync a second, {written:,.0f} MB/s written and synced, SHA-256 of {of_core:,.0f} MB/s a core"


def wait_for_quiet(seconds_max):
    """Waits until others leave the cores alone, but no longer than that."""
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline:
        before, start = busy_seconds(), time.monotonic()
        time.sleep(0.3)
        if (busy_seconds() - before) / ((time.monotonic() - start) * CORES) < QUIET_SHARE:
            return


def description():
    """One line that says on what this ran."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES / 2**30
    system = "Linux"
    with open("/etc/os-release") as file:
        for line in file:
            if line.startswith("PRETTY_NAME="):
                system = line.partition("=")[2].strip().strip('"')
    return f"{CORES} cores of {model}, {memory:.0f} GiB, {system}, Linux {os.uname().release}"
