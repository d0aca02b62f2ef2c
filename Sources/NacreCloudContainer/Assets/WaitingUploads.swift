import NacreCloudWire
import NacreLocks

/// Files that were sent and that no record has, so that nobody fills the disk with what no quota counts. Thread-safe.
///
/// It knows those of this process: a new start forgets them, and they are collected when they are old all the same.
final class WaitingUploads: Sendable {
    /// Who sends, and where to.
    struct Sender: Hashable, Sendable {
        var database: DatabaseID
        var name: String
    }

    private struct Files {
        var bytes: Int64 = 0
        /// Those that are there, with the moment from which they are collected; the rest of `bytes` is on its way.
        var kept: [AssetID: (size: Int64, until: Timestamp)] = [:]

        mutating func forget(_ asset: AssetID) {
            if let file = kept.removeValue(forKey: asset) { bytes = max(0, bytes - file.size) }
        }
    }

    private struct State {
        private(set) var senders: [Sender: Files] = [:]
        private(set) var count = 0

        mutating func change<Value>(_ sender: Sender, _ body: (inout Files) -> Value) -> Value {
            var files = senders[sender] ?? Files()
            count -= files.kept.count
            let value = body(&files)
            count += files.kept.count
            senders[sender] = files.bytes > 0 || !files.kept.isEmpty ? files : nil
            if count > WaitingUploads.remembered { self = State() }
            return value
        }
    }

    /// Files of all senders that are remembered; beyond it the memory starts afresh. On this server: some tens of megabytes.
    private static let remembered = 100_000

    private let state = Locked(State())

    /// Takes room for a file before its first byte is read.
    /// - Throws: `ServerError.tooManyUploads` where what waits and this are more than `Limits.waitingAssetBytes`.
    func take(_ bytes: Int64, for sender: Sender, at now: Timestamp) throws(ServerError) {
        let isTaken = state.withLock { state in
            state.change(sender) { files in
                for (asset, file) in files.kept where file.until <= now { files.forget(asset) }
                guard files.bytes + bytes <= Limits.waitingAssetBytes else { return false }
                files.bytes += bytes
                return true
            }
        }
        guard isTaken else { throw .tooManyUploads }
    }

    /// The file for which `bytes` were taken is there, or will not be.
    func end(_ bytes: Int64, for sender: Sender, with asset: StoredAsset?) {
        state.withLock { state in
            state.change(sender) { files in
                files.bytes = max(0, files.bytes - bytes)
                guard let asset else { return }
                files.bytes += asset.size
                files.kept[asset.id] = (asset.size, asset.created + Limits.assetGraceSeconds)
            }
        }
    }

    /// Records have these now.
    func saved(_ assets: [AssetID], by sender: Sender) {
        guard !assets.isEmpty else { return }
        state.withLock { state in
            state.change(sender) { files in
                for asset in assets { files.forget(asset) }
            }
        }
    }
}

extension ServerError {
    static let tooManyUploads = ServerError(
        .quotaExceeded, "files that no record has are too many", native: .quotaExceeded,
        remedy: "Save the records that the files are for before you send more. What is not saved goes after "
            + "\(Int(Limits.assetGraceSeconds / 3600)) hours.")
}
