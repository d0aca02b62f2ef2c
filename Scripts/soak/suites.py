"""Runs test suites by name."""

import re

from soaking import Fault

SUMMARY = re.compile(r"Test run with (\d+) tests?.* (passed|failed) after")


def run(soak, filters, seconds_max, flags=(), **environment):
    """Runs what the filters name, or everything, and returns how many tests there were."""
    arguments = ["swift", "test", "--skip-build", *flags]
    for each in filters:
        arguments += ["--filter", each]
    status, output = soak.command(arguments, seconds_max, **environment)
    counts = [int(match[1]) for match in SUMMARY.finditer(output)]
    if status != 0:
        issues = [line.strip() for line in output.splitlines() if "recorded an issue" in line]
        seed = f", NACRE_SEED={environment['NACRE_SEED']}" if "NACRE_SEED" in environment else ""
        raise Fault(f"{issues[0][:300] if issues else f'swift test ended with {status}'}{seed}; see {soak.log_path}")
    # A filter that names nothing passes: that is no test.
    if not counts or counts[-1] == 0:
        raise Fault(f"no test was run: {' '.join(filters)}; see {soak.log_path}")
    return counts[-1]
