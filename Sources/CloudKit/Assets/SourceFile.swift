import Foundation

/// A file at one moment. Two equal values have the same bytes, as far as the file system can tell.
struct SourceFile: Equatable, Sendable {
    let path: String
    let size: Int
    private let device: Int
    private let number: Int
    private let modified: Date

    /// Reads the file's attributes; blocks the thread.
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

    /// Throws `assetFileModified` if the file was replaced or changed.
    func check(_ url: URL?, key: String) throws(CKError) {
        guard try SourceFile(url, key: key) == self else { throw .assetFileModified(key) }
    }
}
