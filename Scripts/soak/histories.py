"""Long random histories: requests at once against the same one by one, and over an engine that gives no more than it promises and fails now and then;
SQLite against the oracle in memory; who is shown what against a naive model; queries against a look at every record;
devices with encrypted values whose keys change."""

import suites

# At full length, of each of the two kinds of history.
OPERATIONS = 1_000_000
OPERATIONS_LEAST = 20_000
# Of one history: all of it is kept in memory, to be asked again.
HISTORY_OPERATIONS_MAX = 100_000
# A hundred times what a debug build needs.
SECONDS_PER_OPERATION_MAX = 0.05
QUERIES = 20_000
QUERIES_LEAST = 500
QUERIES_AT_ONCE = 4_000
SECONDS_PER_QUERY_MAX = 0.5
QUERY_KINDS = [
    "NacreCloudContainerTests.QueryDifferentialTests", "NacreCloudContainerTests.DistancePageTests", "NacreCloudContainerTests.ReferenceHistoryTests"]
QUERIES_PER_MAP = 200
KINDS = [
    "NacreCloudContainerTests.HistoryTests", "NacreCloudStoreTests.EnginesAgree", "NacreCloudServerTests.WhoSeesWhatFuzzTests"]


# Histories of devices with encrypted values.
SEALED = 200
SEALED_LEAST = 4
SECONDS_PER_SEALED_MAX = 60

# Rules over every engine, and every place at which a store or a disk may fail. A debug build needs a fifth of it.
WHOLE = ["NacreCloudContainerTests", "NacreCloudStoreTests", "NacreCloudServerTests.SavedBackTests"]
WHOLE_SECONDS_MAX = 5400


def run(soak):
    searched = suites.run(soak, WHOLE, WHOLE_SECONDS_MAX, NACRE_SEED=soak.random.randrange(2**32), NACRE_WHOLE=1)
    total = left = soak.share(OPERATIONS, OPERATIONS_LEAST)
    histories = 0
    while left > 0:
        operations = min(left, HISTORY_OPERATIONS_MAX)
        suites.run(
            soak, KINDS, 120 + operations * SECONDS_PER_OPERATION_MAX, NACRE_SEED=soak.random.randrange(2**32), NACRE_OPERATIONS=operations)
        left -= operations
        histories += 1
    queries = left = soak.share(QUERIES, QUERIES_LEAST)
    while left > 0:
        asked = min(left, QUERIES_AT_ONCE)
        suites.run(
            soak, QUERY_KINDS, 120 + asked * SECONDS_PER_QUERY_MAX, NACRE_SEED=soak.random.randrange(2**32), NACRE_QUERIES=asked,
            NACRE_MAPS=max(1, asked // QUERIES_PER_MAP))
        left -= asked
    sealed = soak.share(SEALED, SEALED_LEAST)
    suites.run(
        soak, ["NacreEndToEndTests.EncryptedHistoryTests"], 120 + sealed * SECONDS_PER_SEALED_MAX, NACRE_SEED=soak.random.randrange(2**32),
        NACRE_ENCRYPTED_HISTORIES=sealed)
    return (f"{searched:,} tests over all engines and places; {total:,} operations on records in each of {len(KINDS)} kinds of history, {histories} seeds; "
            f"{queries:,} queries; {sealed} histories of encrypted values")
