import Testing

/// A place that breaks a rule, and the rule.
struct Finding: Equatable, CustomStringConvertible {
    let path: String
    let line: Int
    let message: String

    var description: String { "\(path):\(line): \(message)" }
}

/// Makes each finding a failure of the running test.
func report(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings {
        Issue.record("\(finding.description)", sourceLocation: sourceLocation)
    }
}

/// Applies a rule to every Swift file of ours.
func report(_ rule: (SwiftText) -> [Finding], sourceLocation: SourceLocation = #_sourceLocation) throws {
    let files = try SourceTree.swift.get()
    // An empty tree would pass every rule.
    #expect(files.contains { $0.path == "Sources/NacreLocks/Locked.swift" }, sourceLocation: sourceLocation)
    report(files.flatMap(rule), sourceLocation: sourceLocation)
}
