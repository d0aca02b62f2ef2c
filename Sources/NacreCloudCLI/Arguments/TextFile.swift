import Foundation

/// Texts that a command reads from a file, or writes into one.
enum TextFile {
    /// Reads a text.
    /// - Parameter path: `-` is standard input.
    /// - Throws: `CommandFailure` where the file cannot be read or is not UTF-8.
    static func read(_ path: String) throws -> String {
        let bytes = path == "-" ? try FileHandle.standardInput.readToEnd() ?? Data() : FileManager.default.contents(atPath: path)
        guard let bytes else { throw CommandFailure(.failure, "\(path) cannot be read", remedy: "Name a file that is there.") }
        guard let text = String(bytes: bytes, encoding: .utf8) else { throw CommandFailure(.failure, "\(path) is not a text in UTF-8") }
        return text
    }

    /// Reads the single line of a file, without its end: a secret that must not stand on a command line.
    /// - Throws: `CommandFailure` also where the file is empty or has several lines.
    static func secret(_ path: String) throws -> String {
        let line = try read(path).trimmingCharacters(in: .newlines)
        guard !line.isEmpty, !line.contains(where: \.isNewline) else {
            throw CommandFailure(.failure, "\(path) does not hold one line", remedy: "Put the secret into it, and nothing else.")
        }
        return line
    }

    /// Replaces a regular file with a text atomically: no reader sees half of it. Anything that is no regular file,
    /// such as a pipe, is written into.
    /// - Throws: `CommandFailure` where it cannot be written.
    static func write(_ text: String, to path: String) throws {
        do {
            let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            try Data(text.utf8).write(to: URL(filePath: path), options: kind == nil || kind == .typeRegular ? .atomic : [])
        } catch {
            throw CommandFailure(
                .failure, "\(path) cannot be written", remedy: "Name a file in a folder that is there, and that you may write into.")
        }
    }
}
