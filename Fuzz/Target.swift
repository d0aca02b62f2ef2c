/// A reader of foreign bytes, as the fuzzers see it: `run` takes any bytes and calls `promise` for each invariant.
///
/// libFuzzer makes inputs for hours (`LibFuzzer.swift`); the tests run those of `Fuzz/corpus` (`CorpusTests.swift`).
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
    case encryption

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
        case .encryption: EncryptionTarget.run(input)
        }
    }
}
