import Glibc
import NacreCloudStorage

/// A chunk that is written to a file aside as its bytes come, so that it is never whole in memory. One thread at a
/// time. The file is removed with it unless it was kept.
final class GrowingChunk {
    private let path: String
    private let file: OpenedFile
    private(set) var size = 0
    private var isKept = false

    /// Creates the file, or empties an existing one.
    init(at path: String) throws(StoreError) {
        file = try FileCall.create(path)
        self.path = path
    }

    deinit {
        if !isKept { unlink(path) }
    }

    func add(_ bytes: [UInt8], _ part: Range<Int>) throws(StoreError) {
        try FileCall.append(bytes, part, to: file, path)
        size += part.count
    }

    /// Leaves the file to the caller, and begins to write it to the disk.
    /// - Returns: The path of the file.
    func keep() -> String {
        isKept = true
        FileCall.beginSync(file)
        return path
    }
}
