import FoundationEssentials
import Glibc

/// A folder of one test's own, gone with the last reference to it.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// Throws if the system gives none.
    package init() throws {
        var template = Array((FileManager.default.temporaryDirectory.path + "/nacre-test-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        // A store that is just closing takes its own files away meanwhile, which can make a round stumble. What stays after all harms no test.
        for _ in 0..<10 {
            if (try? FileManager.default.removeItem(atPath: path)) != nil { return }
        }
    }
}
