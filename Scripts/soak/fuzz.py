"""libFuzzer with AddressSanitizer on everything that reads bytes from elsewhere. See Fuzz/."""

import os
import re

from soaking import Fault

# Of the soak's seconds, for all targets together.
SHARE = 0.4
# Parts of that: the slow and the wide get more.
WEIGHTS = {
    "json": 1, "requests": 3, "answers": 2, "queries": 3, "tokens": 1, "records": 2, "framing": 3, "predicates": 1,
    "schemas": 1, "forms": 1, "passkeys": 1, "encryption": 1}
SECONDS_LEAST = 3
# Longer inputs find little more and are slower.
INPUT_BYTES_MAX = 4096
# For one input. A loaded machine is slow, a loop without end is slower.
INPUT_SECONDS_MAX = 60
# Resident memory of the fuzzer: AddressSanitizer keeps what was freed for a while.
MEMORY_MEGABYTES_MAX = 2048
BUILD_SECONDS_MAX = 1800


def run(soak):
    folder = os.path.join(soak.home, "fuzz")
    status, _ = soak.command([os.path.join(soak.root, "Fuzz/build"), folder], BUILD_SECONDS_MAX)
    if status != 0:
        raise Fault(f"the fuzzer does not compile; see {soak.log_path}")
    counts, faults = [], []
    for target, weight in WEIGHTS.items():
        seconds = max(SECONDS_LEAST, round(soak.seconds * SHARE * weight / sum(WEIGHTS.values())))
        try:
            counts.append(f"{target} {explore(soak, folder, target, seconds):,}")
        except Fault as fault:
            faults.append(str(fault))
    if faults:
        raise Fault("; ".join(faults))
    return "inputs: " + ", ".join(counts)


def explore(soak, folder, target, seconds):
    """Fuzzes one target and returns the number of inputs. What it finds new goes into .build, for the next time."""
    found = os.path.join(folder, "found", target)
    os.makedirs(found, exist_ok=True)
    artifacts = os.path.join(folder, target + "-")
    status, output = soak.command(
        [os.path.join(folder, "fuzz"), f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS_MAX}", f"-max_len={INPUT_BYTES_MAX}",
         f"-rss_limit_mb={MEMORY_MEGABYTES_MAX}", f"-seed={soak.random.randrange(1, 2**31)}", f"-artifact_prefix={artifacts}",
         "-print_final_stats=1", found, os.path.join(soak.root, "Fuzz/corpus", target)],
        seconds + 2 * INPUT_SECONDS_MAX + 60, NACRE_FUZZ_TARGET=target)
    if status != 0:
        reasons = re.findall(r"^(?:promise broken: |SUMMARY: ).*", output, re.MULTILINE)
        inputs = re.findall(r"Test unit written to (\S+)", output)
        raise Fault(f"{target}: {reasons[0] if reasons else f'ended with {status}'}, input {inputs[-1] if inputs else 'unknown'}")
    executed = re.search(r"number_of_executed_units: (\d+)", output)
    if not executed or int(executed[1]) == 0:
        raise Fault(f"{target}: no input was tried; see {soak.log_path}")
    return int(executed[1])
