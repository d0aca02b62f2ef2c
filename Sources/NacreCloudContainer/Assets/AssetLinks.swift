import NacreCloudWire
import NacreLocks

/// Makes the URLs of assets for a caller. Thread-safe.
package final class AssetLinks: Sendable {
    /// Where the paths of uploads and downloads begin.
    package static let uploadPath = "/assets/1/upload/"
    package static let downloadPath = "/assets/1/download/"
    /// CloudKit: a client puts a file's name in its place, or anything else.
    package static let fileName = "${f}"

    let tokens: AssetTokens
    private let clock: @Sendable () -> Timestamp
    private let root = Locked("")

    init(tokens: AssetTokens, clock: @escaping @Sendable () -> Timestamp) {
        self.tokens = tokens
        self.clock = clock
    }

    /// Says where clients reach the server, without a slash at the end. To be called before it answers any.
    package func setRoot(_ url: String) {
        root.withLock { $0 = url.hasSuffix("/") ? String(url.dropLast()) : url }
    }

    /// Where clients reach a path of the server.
    package func url(_ path: String) -> String { root.withLock { $0 } + path }

    /// Good for `Limits.assetUploadSeconds`.
    func upload(_ permit: UploadPermit) throws -> String {
        try root.withLock { $0 } + Self.uploadPath + tokens.text(of: permit)
    }

    /// Good for `Limits.assetDownloadSeconds`, and as long as its caller may read the record; nil where the machine cannot seal.
    func download(_ asset: AssetID, in database: DatabaseID, as credential: Credential) -> String? {
        let permit = DownloadPermit(
            credential: credential, database: database, asset: asset, expires: clock() + Limits.assetDownloadSeconds)
        guard let token = try? tokens.text(of: permit) else { return nil }
        return root.withLock { $0 } + Self.downloadPath + token + "/" + Self.fileName
    }
}
