import Foundation
import Testing

/// Certificates that `openssl` makes for a test, in a folder of their own.
final class Authority: Sendable {
    let folder: String
    /// The authority's own certificate.
    var file: String { folder + "/ca.pem" }

    init() throws {
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
    func certificate(for names: [String], days: Int = 2) throws -> (certificate: String, key: String) {
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
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "openssl \(arguments[0])")
    }
}

/// A server that is a process of its own, and ends with this object.
final class ServerProcess: @unchecked Sendable {
    // Sendable: everything is set in `init`; `terminate` may be called from any thread.
    private let process = Process()
    private let output = Pipe()
    let port: Int

    /// - Parameter listening: what stands in its output before the port, once it listens.
    init(_ path: String, _ arguments: [String], listening: String) throws {
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        // s_server ends when its input does.
        process.standardInput = Pipe()
        try process.run()
        var text = ""
        var found: Int?
        while found == nil {
            let some = output.fileHandleForReading.availableData
            guard !some.isEmpty else { break }
            text += String(decoding: some, as: UTF8.self)
            if let mark = text.range(of: listening), let end = text[mark.upperBound...].firstIndex(of: "\n") {
                found = Int(text[mark.upperBound..<end].split(separator: ":").last ?? "")
            }
        }
        port = try #require(found, "no port in: \(text)")
        // What it prints from now on must not fill the pipe.
        output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    deinit {
        output.fileHandleForReading.readabilityHandler = nil
        process.terminate()
    }
}
