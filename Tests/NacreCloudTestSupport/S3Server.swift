import Foundation
import Glibc
import NacreCloudContainer
package import NacreCloudStorage

/// A real S3 server: `rclone serve s3` over a temporary folder, with one bucket. Ends with the last reference to it.
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

    package var port: Int { process.port }
    private let folder: TemporaryFolder
    private let process: ServerProcess

    /// Starts it, and blocks until it listens.
    package init() throws {
        guard let program = Self.program else { throw POSIXFault(call: "rclone", code: ENOENT) }
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/data/" + Self.bucketName, withIntermediateDirectories: true)
        process = try ServerProcess(
            program,
            [
                "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", "\(Self.accessKey),\(Self.secretKey)", "--config", "/dev/null",
                "--vfs-cache-mode", "off",
                // With no directory cache at all each request takes seconds.
                "--dir-cache-time", "100ms", "--cache-dir", folder.path + "/cache", folder.path + "/data",
            ], listening: "Starting s3 server on [http://", readsErrors: true)
    }

    package func end() { process.end() }

    /// The folder of its objects, which are files.
    package var objects: String { folder.path + "/data/" + Self.bucketName }

    /// Credentials of the bucket.
    package static let environment = ["AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey]

    /// Returns the URL of the bucket at a port: this server's, or that of a proxy before it.
    package static func url(_ port: Int, prefix: String = "some/place") -> String {
        "s3://\(bucketName)/\(prefix)?endpoint=http://127.0.0.1:\(port)"
    }

    package static func bucket(_ port: Int, prefix: String = "some/place") throws -> AssetBucket {
        try AssetBucket(url: url(port, prefix: prefix), environment: environment)
    }
}
