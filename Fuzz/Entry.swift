import Glibc

/// What is fuzzed, by the name that `NACRE_FUZZ_TARGET` gives: one program for all, since each would link the same modules.
///
/// A target takes any bytes. It traps where a promise is broken; memory errors are AddressSanitizer's to find.
enum Target: String, CaseIterable {
    case json
    case requests
    case answers
    case queries
    case tokens
    case records
    case framing
    case predicates
    case schemas
    case forms
    case passkeys

    func run(_ input: UnsafeRawBufferPointer) {
        switch self {
        case .json: JSONTarget.run(input)
        case .requests: MessageTarget.runRequest(input)
        case .answers: MessageTarget.runAnswer(input)
        case .queries: QueryTarget.run(input)
        case .tokens: TokenTarget.run(input)
        case .records: StoredTarget.run(input)
        case .framing: FramingTarget.run(input)
        case .predicates: PredicateTarget.run(input)
        case .schemas: SchemaTarget.run(input)
        case .forms: FormTarget.run(input)
        case .passkeys: PasskeyTarget.run(input)
        }
    }

    static let chosen: Target = {
        let name = getenv("NACRE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
        guard let target = Target(rawValue: name) else {
            say("NACRE_FUZZ_TARGET is one of: \(allCases.map(\.rawValue).joined(separator: " "))\n")
            exit(64)
        }
        return target
    }()
}

/// libFuzzer calls it once for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
    Target.chosen.run(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}

/// Ends the process, and so makes a finding, unless the promise holds. libFuzzer keeps the input.
func promise(_ sentence: StaticString, _ holds: Bool) {
    guard !holds else { return }
    // Not by `print`, whose buffer `abort` forgets.
    say("promise broken: \(sentence)\n")
    abort()
}

private func say(_ text: String) {
    _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
}
