import Foundation

/// Certificates that `openssl` makes for a test, in a temporary folder.
package final class Authority: Sendable {
    package let folder: String
    /// The path of the authority's own certificate.
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

    /// Makes a certificate.
    /// - Parameter names: For example `DNS:localhost`, `IP:127.0.0.1`.
    /// - Returns: The paths of the certificate and its key.
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
