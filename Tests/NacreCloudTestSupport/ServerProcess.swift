import Foundation
import Glibc
import NacreLocks

package struct ProcessFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A server that is a process of its own, and ends with this object.
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

    /// Returns when it listens. Blocks until then.
    /// - Parameters:
    ///   - listening: what stands in its output before the port, once it listens.
    ///   - readsErrors: its output is what it writes to the standard error.
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
        // What it prints from now on must not fill the pipe.
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

    /// What it reads. s_server sends it to its client.
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

    /// A process that has ended and that nobody waits for keeps the thread busy that waits for exit tests.
    private static func end(_ pid: pid_t) {
        kill(pid, SIGKILL)
        Program.reap(pid)
    }

    deinit {
        output.readabilityHandler = nil
        end()
    }
}
