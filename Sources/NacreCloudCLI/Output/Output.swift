import Foundation
import Glibc
import Synchronization

/// The output of a command: data on standard output, messages on standard error. Unbuffered, so nothing is lost
/// however the process ends.
enum Output {
    private static let isQuiet = Atomic(false)

    /// Prints only data and errors from now on, and no messages.
    static func beQuiet() { isQuiet.store(true, ordering: .relaxed) }

    /// Prints a line of data.
    static func data(_ line: String) throws {
        try write(line + "\n", to: STDOUT_FILENO)
    }

    /// Prints data that has its line feeds.
    static func text(_ text: String) throws {
        try write(text, to: STDOUT_FILENO)
    }

    /// Prints one JSON object, as a line of data.
    static func json(_ value: some Encodable) throws {
        try data(line(of: value))
    }

    /// Returns one JSON object in a line.
    static func line(of value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Prints a line for people, unless `--quiet` is given. A line that the reader does not take is lost.
    static func message(_ line: String) {
        if !isQuiet.load(ordering: .relaxed) { error(line) }
    }

    /// Prints a line of an error, with `--quiet` too.
    static func error(_ line: String) {
        try? write(line + "\n", to: STDERR_FILENO)
    }

    /// Opens `/dev/null` for closed standard descriptors; otherwise the next file opened would be written into.
    static func openStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // open returns the lowest free number, which is this one: those below it are open.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Whether standard error is a terminal.
    static var isOnTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Returns a foreign text in one line that is safe on a terminal, with a space for each control character.
    static func withoutControls(_ text: String) -> String {
        String(text.map { $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 })
    }

    /// Prints a hint on what to do next, only where both outputs are terminals.
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
