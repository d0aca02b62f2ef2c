/// The ratchet of lengths: long files and long functions are listed one by one, with the length that they may not
/// exceed.
struct Length {
    static let fileLimit = 500
    static let functionLimit = 70

    /// files[path]: the lines of a file over `fileLimit`, when it was entered.
    var files: [String: Int]
    /// functions[`path: function`]: the lines of a function over `functionLimit`, when it was entered.
    var functions: [String: Int]

    func findings(_ file: SwiftText) -> [Finding] {
        guard !file.isGenerated else { return [] }
        var findings: [Finding] = []
        if let message = verdict(file.lineCount, limit: Self.fileLimit, entry: files[file.path]) {
            findings.append(Finding(path: file.path, line: 1, message: "the file \(message)"))
        }
        for function in file.functions {
            if let message = verdict(function.lines, limit: Self.functionLimit, entry: functions["\(file.path): \(function.name)"]) {
                findings.append(Finding(path: file.path, line: function.line, message: "\(function.name) \(message)"))
            }
        }
        return findings
    }

    private func verdict(_ lines: Int, limit: Int, entry: Int?) -> String? {
        guard lines > max(limit, entry ?? 0) else { return nil }
        return "has \(lines) lines; \(entry.map { "its entry in the ratchet says \($0)" } ?? "the limit is \(limit)")"
    }

    /// Returns entries whose file or function is gone, or within the limit now: they must go, or it could grow again
    /// unnoticed.
    func staleEntries(in tree: [SwiftText]) -> [String] {
        let longFiles = tree.filter { $0.lineCount > Self.fileLimit }.map(\.path)
        let longFunctions = tree.flatMap { file in file.functions.filter { $0.lines > Self.functionLimit }.map { "\(file.path): \($0.name)" } }
        return Set(files.keys).subtracting(longFiles).sorted() + Set(functions.keys).subtracting(longFunctions).sorted()
    }
}

extension SwiftText {
    struct Function: Equatable {
        let name: String
        let line: Int
        /// Lines from `func` or `init` to the closing brace.
        let lines: Int
    }

    /// The functions and initialisers that have a body, in order; nested ones too.
    var functions: [Function] {
        tokens.indices.compactMap { index in
            guard let name = functionName(at: index), let open = bodyStart(from: index + 1), let close = closing(of: open) else { return nil }
            return Function(name: name, line: tokens[index].line, lines: tokens[close].line - tokens[index].line + 1)
        }
    }

    private func functionName(at index: Int) -> String? {
        if text(index - 1) == "." { return nil }
        switch text(index) {
        case "func":
            return text(index + 1)
        case "init", "subscript":
            return ["(", "<", "?"].contains(text(index + 1)) ? text(index) : nil
        case "deinit":
            return text(index)
        default:
            return nil
        }
    }

    /// Returns the index of the brace that opens the body; nil for a requirement of a protocol, whose signature just
    /// ends.
    private func bodyStart(from start: Int) -> Int? {
        // A signature goes on over a line's end only before one of `leads`, or after one of `trails` or an arrow.
        let leads: Set = ["(", ")", "]", "-", ">", "<", ",", ":", ".", "&", "=", "{", "where", "throws", "rethrows", "async"]
        let trails: Set = [",", ":", "&", "=", ".", "where"]
        var depth = 0
        for index in start..<tokens.count {
            let token = tokens[index]
            let isLineStart = token.line != tokens[index - 1].line
            let follows = trails.contains(text(index - 1)) || reads(["-", ">"], at: index - 2)
            if depth == 0, isLineStart, !leads.contains(token.text), !follows { return nil }
            switch token.text {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            case "{" where depth == 0: return index
            case "}" where depth == 0: return nil
            default: break
            }
        }
        return nil
    }

    private func closing(of open: Int) -> Int? {
        var depth = 0
        for index in open..<tokens.count {
            if tokens[index].text == "{" { depth += 1 }
            if tokens[index].text == "}" { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }
}
