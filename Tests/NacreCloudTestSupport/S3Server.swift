import Foundation
import Glibc
package import NacreCloudContainer

/// A real server that speaks S3: `rclone serve s3` over a folder of its own, with one bucket. Ends with the last reference to it.
package final class S3Server: Sendable {
    package static let accessKey = "AKIDNACRETESTS"
    package static let secretKey = "one/secret+key"
    package static let bucketName = "bucket"

    /// The program that `Scripts/s3/setup` installs, or the one of `NACRE_RCLONE`; nil where there is none.
    package static let program: String? = {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
        let places = [ProcessInfo.processInfo.environment["NACRE_RCLONE"], root + "/.build/s3/python/bin/rclone", "/usr/bin/rclone"]
        return places.compactMap(\.self).first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    package static let absent = "rclone is not installed: Scripts/s3/setup"

    package let port: Int
    private let folder: TemporaryFolder
    private let pid: pid_t

    /// Starts it, and returns when it listens. Blocks until then.
    package init() throws {
        guard let program = Self.program else { throw POSIXFault(call: "rclone", code: ENOENT) }
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/data/" + Self.bucketName, withIntermediateDirectories: true)
        let process = Process()
        let (output, log) = (Pipe(), folder.path + "/data")
        process.executableURL = URL(filePath: program)
        process.arguments = [
            "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", "\(Self.accessKey),\(Self.secretKey)", "--config", "/dev/null", "--vfs-cache-mode",
            "off",
            // With none at all it takes seconds for each request.
            "--dir-cache-time", "100ms", "--cache-dir", folder.path + "/cache", log,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = output
        try process.run()
        pid = process.processIdentifier
        var said = ""
        while let piece = try output.fileHandleForReading.read(upToCount: 1), !piece.isEmpty {
            said += String(decoding: piece, as: UTF8.self)
            if said.hasSuffix("]\n"), said.contains("Starting s3 server on [http://127.0.0.1:") { break }
        }
        let digits = said.components(separatedBy: "Starting s3 server on [http://127.0.0.1:").last?.prefix { $0.isNumber } ?? ""
        guard let port = Int(digits) else {
            kill(pid, SIGKILL)
            throw POSIXFault(call: "rclone: \(said)", code: EIO)
        }
        self.port = port
        // What it says later is read, so that it never waits for a reader.
        let rest = output.fileHandleForReading
        Thread.detachNewThread { while let piece = try? rest.read(upToCount: 4096), !piece.isEmpty {} }
    }

    deinit { kill(pid, SIGKILL) }

    package func end() { kill(pid, SIGKILL) }

    /// Where its objects lie as files.
    package var objects: String { folder.path + "/data/" + Self.bucketName }

    /// Who may ask.
    package static let environment = ["AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey]

    /// The bucket, as it is reached by a port: this server's, or that of something before it.
    package static func url(_ port: Int, prefix: String = "some/place") -> String {
        "s3://\(bucketName)/\(prefix)?endpoint=http://127.0.0.1:\(port)"
    }

    package static func bucket(_ port: Int, prefix: String = "some/place") throws -> AssetBucket {
        try AssetBucket(url: url(port, prefix: prefix), environment: environment)
    }
}
