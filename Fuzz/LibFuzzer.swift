import Glibc

extension Target {
    /// The target that `NACRE_FUZZ_TARGET` names. One program has all targets, since each would link the same modules.
    static let chosen: Target = {
        let name = getenv("NACRE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
        guard let target = Target(rawValue: name) else {
            say("NACRE_FUZZ_TARGET is one of: \(allCases.map(\.rawValue).joined(separator: " "))\n")
            exit(64)
        }
        return target
    }()
}

/// Runs one input. libFuzzer calls it on one thread.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
    Target.chosen.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

/// Ends the process if a promise does not hold: libFuzzer keeps the input as a finding.
func promise(_ sentence: StaticString, _ holds: Bool) {
    guard !holds else { return }
    // Not by `print`, whose buffer is lost at `abort`.
    say("promise broken: \(sentence)\n")
    abort()
}

private func say(_ text: String) {
    _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
}
