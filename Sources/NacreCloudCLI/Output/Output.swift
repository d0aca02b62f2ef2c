import Foundation
import Glibc
import Synchronization

/// What the command says: data on standard output, messages on standard error. Unbuffered, so nothing is lost however the process ends.
enum Output {
    private static let isQuiet = Atomic(false)

    /// Prints data and errors from now on, and no messages.
    static func beQuiet() { isQuiet.store(true, ordering: .relaxed) }

    /// A line of data.
    static func data(_ line: String) throws {
        try write(line + "\n", to: STDOUT_FILENO)
    }

    /// Data that has its line feeds.
    static func text(_ text: String) throws {
        try write(text, to: STDOUT_FILENO)
    }

    /// One JSON object, as a line of data.
    static func json(_ value: some Encodable) throws {
        try data(line(of: value))
    }

    /// One JSON object in a line.
    static func line(of value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// A line for people, unless they want none. Where the reader has closed its end, the line is lost, and nothing else happens.
    static func message(_ line: String) {
        if !isQuiet.load(ordering: .relaxed) { error(line) }
    }

    /// A line of an error: printed in any case.
    static func error(_ line: String) {
        try? write(line + "\n", to: STDERR_FILENO)
    }

    /// Opens what is closed of standard input, output and error on nothing: else the next file to be opened would have that number, and be written into.
    static func openStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest number that is free is this one: those below it are open.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Whether a person reads what stands on standard error.
    static var isOnTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// A text of somebody else's in one line that does nothing to a terminal: a space for each control character.
    static func withoutControls(_ text: String) -> String {
        String(text.map { $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 })
    }

    /// A line that helps with what comes next: only where a person reads the output.
    static func hint(_ line: String) {
        if isOnTerminal, isatty(STDOUT_FILENO) == 1 { message(line) }
    }

    private static func write(_ text: String, to descriptor: Int32) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else {
                throw CommandFailure(.failure, "standard output cannot be written: \(String(cString: strerror(errno)))")
            }
            rest = rest.dropFirst(max(count, 0))
        }
    }
}
