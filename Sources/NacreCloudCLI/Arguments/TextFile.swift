import Foundation

/// A text that a command takes from a file.
enum TextFile {
    /// - Parameter path: `-` is standard input.
    /// - Throws: `CommandFailure` where it cannot be read, or is not UTF-8.
    static func read(_ path: String) throws -> String {
        let bytes = path == "-" ? try FileHandle.standardInput.readToEnd() ?? Data() : FileManager.default.contents(atPath: path)
        guard let bytes else { throw CommandFailure(.failure, "\(path) cannot be read", remedy: "Name a file that is there.") }
        guard let text = String(bytes: bytes, encoding: .utf8) else { throw CommandFailure(.failure, "\(path) is not a text in UTF-8") }
        return text
    }
}
