import Foundation
import Glibc
import NacreLocks

package struct ProcessFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A server in a process of its own, which ends with this object.
package final class ServerProcess: @unchecked Sendable {
    // Sendable: everything is set in `init`, or locked; `write` is for one test at a time.
    private let pid: pid_t
    private let isRunning = Locked(true)
    private let input: FileHandle
    private let output: FileHandle
    private let printed = Locked(Printed())
    package let port: Int

    private struct Printed {
        var text = ""
        var waiting: [(text: String, continuation: CheckedContinuation<Void, Never>)] = []
    }

    /// Starts it, and blocks until it listens.
    /// - Parameters:
    ///   - listening: The text before the port in its output, once it listens.
    ///   - readsErrors: Whether to read standard error instead of standard output.
    package init(_ path: String, _ arguments: [String], listening: String, readsErrors: Bool = false) throws {
        // s_server ends when its input does.
        let (input, output) = (Pipe(), Pipe())
        let written = "/dev/fd/\(output.fileHandleForWriting.fileDescriptor)"
        pid = try Program(path, arguments).start(
            input: "/dev/fd/\(input.fileHandleForReading.fileDescriptor)", output: readsErrors ? nil : written, errors: readsErrors ? written : nil)
        (self.input, self.output) = (input.fileHandleForWriting, output.fileHandleForReading)
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        var text = ""
        var found: Int?
        while found == nil {
            let some = self.output.availableData
            guard !some.isEmpty else { break }
            text += String(decoding: some, as: UTF8.self)
            if let mark = text.range(of: listening), let end = text[mark.upperBound...].firstIndex(of: "\n") {
                found = (text[mark.upperBound..<end].split(separator: ":").last?.prefix { $0.isNumber }).flatMap { Int($0) }
            }
        }
        guard let found else {
            Self.end(pid)
            throw ProcessFailure("no port in: \(text)")
        }
        port = found
        // Later output must not fill the pipe.
        self.output.readabilityHandler = { [printed] in Self.take($0.availableData, printed) }
    }

    private static func take(_ bytes: Data, _ printed: Locked<Printed>) {
        let heard = printed.withLock { printed in
            printed.text += String(decoding: bytes, as: UTF8.self)
            let heard = printed.waiting.filter { printed.text.contains($0.text) }
            printed.waiting.removeAll { printed.text.contains($0.text) }
            return heard.map(\.continuation)
        }
        for continuation in heard { continuation.resume() }
    }

    /// Returns when it has printed `text`, after the line with its port.
    package func prints(_ text: String) async {
        await withCheckedContinuation { continuation in
            let isThere = printed.withLock { printed in
                let isThere = printed.text.contains(text)
                if !isThere { printed.waiting.append((text, continuation)) }
                return isThere
            }
            if isThere { continuation.resume() }
        }
    }

    /// Writes to its standard input. s_server sends the bytes to its client.
    package func write(_ bytes: [UInt8]) {
        input.write(Data(bytes))
    }

    package func endInput() {
        try? input.close()
    }

    /// Kills it, once.
    package func end() {
        let wasRunning = isRunning.withLock { isRunning in
            defer { isRunning = false }
            return isRunning
        }
        if wasRunning { Self.end(pid) }
    }

    /// Kills and reaps a process. A zombie would keep the thread busy that waits for exit tests.
    private static func end(_ pid: pid_t) {
        kill(pid, SIGKILL)
        Program.reap(pid)
    }

    deinit {
        output.readabilityHandler = nil
        end()
    }
}
