import Glibc
import NacreCloudContainer
import NacreCrypto

/// A chunk that is written aside and hashed while its bytes come, so that no memory holds it. One thread at a time. Its file goes with it where nobody kept it.
final class GrowingChunk {
    private let path: String
    private let file: OpenedFile
    private var digest: SHA256.Stream
    private(set) var size = 0
    private var isKept = false

    /// Makes the file, in the place of one that may be there.
    init(at path: String) throws(StoreError) {
        do { digest = try SHA256.Stream() } catch { throw Self.fault(error) }
        file = try FileCall.create(path)
        self.path = path
    }

    deinit {
        if !isKept { unlink(path) }
    }

    func add(_ bytes: [UInt8], _ part: Range<Int>) throws(StoreError) {
        bytes.withUnsafeBytes { digest.update(UnsafeRawBufferPointer(rebasing: $0[part])) }
        try FileCall.append(bytes, part, to: file, path)
        size += part.count
    }

    /// Of all that came. Once.
    func endDigest() throws(StoreError) -> [UInt8] {
        do { return try digest.finish() } catch { throw Self.fault(error) }
    }

    /// Leaves the file to the caller, on its way to the disk.
    /// - Returns: where it is.
    func keep() -> String {
        isKept = true
        FileCall.beginSync(file)
        return path
    }

    private static func fault(_ error: CryptoError) -> StoreError {
        StoreError(.unavailable, "A chunk of an asset could not be hashed", ["reason": "\(error)"])
    }
}
