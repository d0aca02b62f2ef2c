package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// Bytes of files that are on their way through this process, by database and sender. Thread-safe.
///
/// Bytes that have arrived count in the store (`UnsavedFiles`). Each of several servers knows only its own: a user may
/// have as much on the way to each. The store refuses bytes beyond the limit on their arrival.
package final class IncomingFiles: Sendable {
    package struct Sender: Hashable, Sendable {
        package var database: DatabaseID
        package var name: String
    }

    private let bytes = Locked<[Sender: Int64]>([:])

    /// Takes room for bytes before they are read.
    /// - Throws: the refusal of `room` where there is not enough beside the bytes on their way.
    package func take(_ more: Int64, for sender: Sender, within room: FileRoom) throws(ServerError) {
        let isTaken = bytes.withLock { bytes in
            let sum = (bytes[sender] ?? 0) + more
            guard sum <= room.bytes else { return false }
            bytes[sender] = sum > 0 ? sum : nil
            return true
        }
        guard isTaken else { throw room.refusal }
    }

    /// Gives back room of bytes that count in the store now, or will not come.
    package func end(_ taken: Int64, for sender: Sender) {
        bytes.withLock { bytes in
            let rest = (bytes[sender] ?? 0) - taken
            bytes[sender] = rest > 0 ? rest : nil
        }
    }
}

extension ServerError {
    static let tooManyUploads = ServerError(
        .quotaExceeded, "files that no record has are too many", native: .quotaExceeded,
        remedy: "Save the records that the files are for before you send more. What is not saved goes after "
            + "\(Int(Limits.assetGraceSeconds / 3600)) hours.")
}
