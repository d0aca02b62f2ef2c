import FoundationEssentials

/// Whether a test is to run that needs something of the machine. Where `NACRE_TESTS=require` is set it runs whatever
/// is missing, and fails for it; elsewhere it is skipped by its name.
package func mayRun(_ isThere: Bool) -> Bool {
    isThere || ProcessInfo.processInfo.environment["NACRE_TESTS"] == "require"
}
