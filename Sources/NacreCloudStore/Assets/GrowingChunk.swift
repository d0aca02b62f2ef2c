import Glibc
import NacreCloudContainer

/// A chunk that is written aside while its bytes come, so that no memory holds it. One thread at a time. Its file goes with it where nobody kept it.
final class GrowingChunk {
    private let path: String
    private let file: OpenedFile
    private(set) var size = 0
    private var isKept = false

    /// Makes the file, in the place of one that may be there.
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

    /// Leaves the file to the caller, on its way to the disk.
    /// - Returns: where it is.
    func keep() -> String {
        isKept = true
        FileCall.beginSync(file)
        return path
    }
}
