import Foundation
import NacreCloudServer

/// A file of variables, one `NAME=value` per line, as shells read it. Other lines stay as they are.
struct EnvironmentFile {
    /// Bytes of the largest file accepted. Ours: a few hundred bytes are usual.
    private static let bytesMax = 64 * 1024

    private var lines: [String]

    init(text: String = "") {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
    }

    /// Reads a file; without a file the result is empty.
    static func read(_ path: String) throws -> EnvironmentFile {
        guard let file = FileHandle(forReadingAtPath: path) else {
            guard FileManager.default.fileExists(atPath: path) else { return EnvironmentFile() }
            throw CommandFailure(.failure, "\(path) cannot be read")
        }
        defer { try? file.close() }
        let data = try file.read(upToCount: bytesMax + 1) ?? Data()
        guard data.count <= bytesMax, let text = String(data: data, encoding: .utf8) else {
            throw CommandFailure(.failure, "\(path) is not a file of variables", remedy: "Name another one with --env-file.")
        }
        return EnvironmentFile(text: text)
    }

    /// Writes the file so that only this user can read it, whole or not at all.
    func write(_ path: String) throws {
        try PrivateFile.write(Array(text.utf8), to: path)
    }

    var text: String { lines.map { $0 + "\n" }.joined() }

    /// The value of a variable, without its quotes; nil where it has none.
    subscript(name: String) -> String? {
        get {
            guard let line = lines.last(where: { Self.name(of: $0) == name }), let start = line.firstIndex(of: "=") else { return nil }
            let value = line[line.index(after: start)...].trimmingCharacters(in: .whitespaces)
            for quote in ["'", "\""] where value.count >= 2 && value.hasPrefix(quote) && value.hasSuffix(quote) {
                return String(value.dropFirst().dropLast())
            }
            return value.isEmpty ? nil : value
        }
        set {
            lines.removeAll { Self.name(of: $0) == name && newValue == nil }
            guard let newValue else { return }
            let line = "\(name)=\(ShellWord.quoted(newValue))"
            if let index = lines.lastIndex(where: { Self.name(of: $0) == name }) { lines[index] = line } else { lines.append(line) }
        }
    }

    private static func name(of line: String) -> String? {
        var rest = line[...].drop { $0 == " " }
        if rest.hasPrefix("export ") { rest = rest.dropFirst(7).drop { $0 == " " } }
        guard let end = rest.firstIndex(of: "="), !rest.hasPrefix("#") else { return nil }
        return String(rest[..<end])
    }
}
