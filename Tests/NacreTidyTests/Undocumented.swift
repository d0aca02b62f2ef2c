/// Finds public declarations of the framework without a doc comment.
enum Undocumented {
    /// Declarations that a protocol or a superclass documents already.
    private static let inherited: Set = ["description", "encode", "copy", "hash", "isEqual", "rawValue", "next"]

    /// Returns the lines, from 1, of public declarations and of cases of public enumerations without a doc comment.
    static func lines(of text: String) -> [Int] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        /// The indentation of the cases of the innermost public enumeration.
        var cases: Int?
        return lines.indices.compactMap { index in
            let line = lines[index]
            let indent = line.prefix { $0 == " " }.count
            if let here = cases, line.hasPrefix(String(repeating: " ", count: here - 4) + "}") { cases = nil }
            let code = line.dropFirst(indent)
            let isCase = code.hasPrefix("case ") && cases == indent
            if code.hasPrefix("public enum ") || code.hasPrefix("public indirect enum ") { cases = indent + 4 }
            guard isCase || isPublic(code), !isInherited(code) else { return nil }
            var above = index - 1
            while above >= 0, lines[above].drop(while: { $0 == " " }).hasPrefix("@") { above -= 1 }
            return above >= 0 && lines[above].drop(while: { $0 == " " }).hasPrefix("///") ? nil : index + 1
        }
    }

    private static func isPublic(_ code: Substring) -> Bool {
        guard let declaration = code.wholeMatch(of: /(?:@\w+(?:\([^)]*\))? )*(?:public|open) (.*)/)?.1 else { return false }
        return !declaration.hasPrefix("import ") && !declaration.hasPrefix("extension ") && !declaration.hasPrefix("required init?(coder")
    }

    /// Returns whether a declaration is exempt, also for names that begin with an underscore, which are not for apps.
    private static func isInherited(_ code: Substring) -> Bool {
        guard !code.contains(" override "), !code.contains("static func =="), !code.contains(/(?:func|var|let) _/) else { return true }
        return ["init(coder", "init(from", "init(rawValue"].contains { code.contains(" \($0)") }
            || inherited.contains { name in ["func \(name)(", "func \(name)<", "var \(name):", "let \(name):"].contains(where: code.contains) }
    }
}
