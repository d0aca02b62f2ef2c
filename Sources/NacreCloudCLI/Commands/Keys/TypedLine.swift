import Foundation
import Glibc

/// Reads lines that a person types, or that a script writes to standard input.
enum TypedLine {
    /// Bytes of the longest line.
    private static let bytesMax = 4_096
    private static let wordCount = 24

    /// Asks a question, and returns the line without spaces at its ends; nil at the end of the input.
    static func ask(_ question: String) async throws -> String? {
        Output.error(question)
        return try await next()
    }

    /// Shows an enrolment's code, and asks for that of the other device.
    static func ask(code: String) async throws -> String? {
        try await ask("The code of this device is \(code). Type the code that the other device shows:")
    }

    /// Returns the recovery words, in one line or several.
    static func words() async throws -> String {
        var text = ""
        repeat {
            guard let line = try await (text.isEmpty ? ask("The 24 recovery words:") : next()) else { break }
            text += line + " "
        } while text.utf8.count <= bytesMax && text.split(whereSeparator: { !$0.isLetter }).count < wordCount
        return text
    }

    /// Reads on a thread that may block.
    private static func next() async throws -> String? {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try line() }) }
        }
    }

    /// Reads byte for byte: what follows the line stays for the next call.
    private static func line() throws -> String? {
        var bytes: [UInt8] = []
        while bytes.count <= bytesMax {
            var byte: UInt8 = 0
            let count = read(STDIN_FILENO, &byte, 1)
            guard count >= 0 || errno == EINTR else {
                throw CommandFailure(.failure, "standard input cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 && bytes.isEmpty { return nil }
            if count == 0 || byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespaces) }
            if count > 0 { bytes.append(byte) }
        }
        throw CommandFailure(.usage, "the line has more than \(bytesMax) bytes")
    }
}
