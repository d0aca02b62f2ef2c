import Foundation
import Glibc
import NacreLocks

/// Certificates that `openssl` makes for a test, in a folder of their own.
package final class Authority: Sendable {
    package let folder: String
    /// The authority's own certificate.
    package var file: String { folder + "/ca.pem" }

    package init() throws {
        folder = NSTemporaryDirectory() + "nacre-tls-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try run(["req", "-x509"] + Self.newKey + ["-keyout", folder + "/ca.key", "-out", file, "-days", "2", "-subj", "/CN=Test Authority"])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    /// - Parameter names: `DNS:localhost`, `IP:127.0.0.1`.
    /// - Returns: the paths of a certificate and its key.
    package func certificate(for names: [String], days: Int = 2) throws -> (certificate: String, key: String) {
        let base = folder + "/" + UUID().uuidString
        try run(
            ["req"] + Self.newKey + [
                "-keyout", base + ".key", "-out", base + ".csr", "-subj", "/CN=test", "-addext", "subjectAltName=" + names.joined(separator: ","),
            ])
        try run([
            "x509", "-req", "-in", base + ".csr", "-CA", file, "-CAkey", folder + "/ca.key", "-CAcreateserial", "-days", "\(days)",
            "-copy_extensions", "copyall", "-out", base + ".pem",
        ])
        return (base + ".pem", base + ".key")
    }

    private func run(_ arguments: [String]) throws {
        let status = try Program("/usr/bin/openssl", arguments).run()
        guard status == 0 else { throw ProcessFailure("openssl \(arguments[0])") }
    }
}

package struct ProcessFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A server that is a process of its own, and ends with this object.
package final class ServerProcess: @unchecked Sendable {
    // Sendable: everything is set in `init`; `terminate` may be called from any thread, and one test at a time writes.
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let printed = Locked(Printed())
    package let port: Int

    private struct Printed {
        var text = ""
        var waiting: [(text: String, continuation: CheckedContinuation<Void, Never>)] = []
    }

    /// - Parameters:
    ///   - listening: what stands in its output before the port, once it listens.
    ///   - readsErrors: its output is what it writes to the standard error.
    package init(_ path: String, _ arguments: [String], listening: String, readsErrors: Bool = false) throws {
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = readsErrors ? FileHandle.nullDevice : output
        process.standardError = readsErrors ? output : FileHandle.nullDevice
        // s_server ends when its input does.
        process.standardInput = input
        try process.run()
        var text = ""
        var found: Int?
        while found == nil {
            let some = output.fileHandleForReading.availableData
            guard !some.isEmpty else { break }
            text += String(decoding: some, as: UTF8.self)
            if let mark = text.range(of: listening), let end = text[mark.upperBound...].firstIndex(of: "\n") {
                found = (text[mark.upperBound..<end].split(separator: ":").last?.prefix { $0.isNumber }).flatMap { Int($0) }
            }
        }
        guard let found else { throw ProcessFailure("no port in: \(text)") }
        port = found
        // What it prints from now on must not fill the pipe.
        output.fileHandleForReading.readabilityHandler = { [printed] in Self.take($0.availableData, printed) }
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
        input.fileHandleForWriting.write(Data(bytes))
    }

    package func endInput() {
        try? input.fileHandleForWriting.close()
    }

    deinit {
        output.fileHandleForReading.readabilityHandler = nil
        process.terminate()
    }
}
