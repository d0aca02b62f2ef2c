import FoundationEssentials
import Glibc

/// A temporary folder of one test, deleted with the last reference to it.
package final class TemporaryFolder: Sendable {
    package enum Place: Sendable {
        /// The system's folder for temporary files: mostly a disk.
        case disk
        /// In memory where the system has a place for it: for tests that open a store a thousand times and need no
        /// disk to sync.
        case memory
    }

    package let path: String

    /// Makes a folder; throws if the system gives none.
    package init(on place: Place = .disk) throws {
        let disk = FileManager.default.temporaryDirectory.path
        let parent = place == .memory && access(Self.memory, W_OK) == 0 ? Self.memory : disk
        var template = Array((parent + "/nacre-test-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static let memory = "/dev/shm"

    deinit {
        // A store that is just closing deletes its own files, which can make an attempt fail. Leftovers do no harm.
        for _ in 0..<10 {
            if (try? FileManager.default.removeItem(atPath: path)) != nil { return }
        }
    }
}
