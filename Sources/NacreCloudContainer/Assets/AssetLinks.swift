package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// Makes the URLs of assets for a caller. Thread-safe.
package final class AssetLinks: Sendable {
    /// The beginnings of the paths of uploads and downloads.
    package static let uploadPath = "/assets/1/upload/"
    package static let downloadPath = "/assets/1/download/"
    /// The last part of a download's path. CloudKit: a client puts a file's name in its place, or any other text.
    package static let fileName = "${f}"

    package let tokens: AssetTokens
    private let clock: @Sendable () -> Timestamp
    private let root = Locked("")

    package init(tokens: AssetTokens, clock: @escaping @Sendable () -> Timestamp) {
        self.tokens = tokens
        self.clock = clock
    }

    /// Sets the URL at which clients reach the server; a slash at its end is dropped. To be called before the server
    /// answers a request.
    package func setRoot(_ url: String) {
        root.withLock { $0 = url.hasSuffix("/") ? String(url.dropLast()) : url }
    }

    /// Returns the URL at which clients reach a path of the server.
    package func url(_ path: String) -> String { root.withLock { $0 } + path }

    /// Returns an upload's URL, which is good for `Limits.assetUploadSeconds`.
    package func upload(_ permit: UploadPermit) throws -> String {
        try root.withLock { $0 } + Self.uploadPath + tokens.text(of: permit)
    }

    /// Returns a download's URL; nil where the machine cannot seal. It is good for `Limits.assetDownloadSeconds`, and
    /// as long as its caller may read the record.
    package func download(_ asset: AssetID, in database: DatabaseID, as credential: Credential) -> String? {
        let permit = DownloadPermit(
            credential: credential, database: database, asset: asset, expires: clock() + Limits.assetDownloadSeconds)
        guard let token = try? tokens.text(of: permit) else { return nil }
        return root.withLock { $0 } + Self.downloadPath + token + "/" + Self.fileName
    }
}
