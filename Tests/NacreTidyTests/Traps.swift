/// Checks that code which stops the process or disables a check of the compiler has its reason beside it.
enum Traps {
    /// Lines below `@unchecked Sendable` within which its proof must begin.
    static let proofLines = 2

    /// Checks that in `Sources` `fatalError` and `preconditionFailure` stand beside a comment that begins
    /// "unreachable:".
    static func stops(_ file: SwiftText) -> [Finding] {
        guard file.isSource else { return [] }
        return file.tokens.filter { ["fatalError", "preconditionFailure"].contains($0.text) }.compactMap { token in
            let comments = file.comments(onLine: token.line) + file.comments(onLine: token.line - 1)
            guard !comments.contains(where: { $0.hasPrefix("unreachable:") }) else { return nil }
            return Finding(
                path: file.path, line: token.line, message: "\(token.text) without a comment \"unreachable: why\" on its line or the one above")
        }
    }

    static func forcedTries(_ file: SwiftText) -> [Finding] {
        file.tokens.indices.filter { file.reads(["try", "!"], at: $0) && file.tokens[$0 + 1].isAttached }.map {
            Finding(path: file.path, line: file.tokens[$0].line, message: "try! stops the process on an error: throw it")
        }
    }

    /// `@unchecked Sendable` is followed by a comment that proves it; a doc comment belongs to what comes next and
    /// proves nothing.
    static func uncheckedSendables(_ file: SwiftText) -> [Finding] {
        file.tokens.indices.filter { file.reads(["@", "unchecked", "Sendable"], at: $0) }.compactMap { index in
            let line = file.tokens[index].line
            let proof = file.comments.contains { (line...line + proofLines).contains($0.line) && !$0.text.hasPrefix("///") }
            return proof ? nil : Finding(path: file.path, line: line, message: "@unchecked Sendable without a comment below it that proves it")
        }
    }
}
