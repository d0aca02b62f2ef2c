import Foundation

/// A file that is sent, as it was at one moment: two that are equal have the same bytes, as far as a file system tells.
struct SourceFile: Equatable, Sendable {
    let path: String
    let size: Int
    private let device: Int
    private let number: Int
    private let modified: Date

    /// Looks at the file; blocks while the system does.
    ///
    /// - Parameter key: the field, for the error.
    init(_ url: URL?, key: String) throws(CKError) {
        guard let url else { throw .assetFileNotFound(key) }
        path = url.resolvingSymlinksInPath().path
        let manager = FileManager.default
        guard manager.fileExists(atPath: path) else { throw .assetFileNotFound(key) }
        guard manager.isReadableFile(atPath: path), let attributes = try? manager.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeRegular, let size = (attributes[.size] as? NSNumber)?.intValue,
            let modified = attributes[.modificationDate] as? Date
        else { throw .assetNotReadable(key) }
        self.size = size
        self.modified = modified
        device = (attributes[.systemNumber] as? NSNumber)?.intValue ?? 0
        number = (attributes[.systemFileNumber] as? NSNumber)?.intValue ?? 0
    }

    /// Throws `assetFileModified` where the file is another one by now, or has other bytes.
    func check(_ url: URL?, key: String) throws(CKError) {
        guard try SourceFile(url, key: key) == self else { throw .assetFileModified(key) }
    }
}
