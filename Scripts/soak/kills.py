"""`kill -9` at any moment, round after round: nothing that was acknowledged is lost."""

import suites

ROUNDS = 200
ROUNDS_LEAST = 5
# Kills of one server on one folder; then a fresh seed.
RUN_ROUNDS_MAX = 50
# Of a server that takes, saves and collects files.
ASSET_ROUNDS = 50
ASSET_ROUNDS_LEAST = 5
# A start of a debug build on a busy machine, and the answers until the next kill.
SECONDS_PER_ROUND_MAX = 30


def run(soak):
    total = left = soak.share(ROUNDS, ROUNDS_LEAST)
    while left > 0:
        rounds = min(left, RUN_ROUNDS_MAX)
        suites.run(
            soak, ["NacreEndToEndTests.KillLoopTests"], 120 + rounds * SECONDS_PER_ROUND_MAX,
            NACRE_SEED=soak.random.randrange(2**63), NACRE_KILL_ROUNDS=rounds)
        left -= rounds
    assets = soak.share(ASSET_ROUNDS, ASSET_ROUNDS_LEAST)
    suites.run(
        soak, ["NacreEndToEndTests.AssetKillTests"], 120 + assets * SECONDS_PER_ROUND_MAX,
        NACRE_SEED=soak.random.randrange(2**63), NACRE_ASSET_KILL_ROUNDS=assets)
    return f"{total} kills, {assets} more among files"
