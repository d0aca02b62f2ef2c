import Foundation
import NacreCloudWire

/// A file as it is sent: the sealed chunks of the app's file, one behind the other.
struct SealedFile: Sendable {
    let path: String
    /// Stands for the chunks in the record's manifest.
    let root: [UInt8]
    /// The chunks as they are announced to the server, which takes shorter ones: a long one goes in two halves.
    let announced: AnnouncedFile
}

#if canImport(NacreEncryption)
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms

    /// Seals the files of a zone's records, and opens them, from file to file. A chunk and some copies of it are in
    /// memory.
    struct ZoneFiles: Sendable {
        private typealias Cut = NacreEncryptionForms.FileChunks

        let keys: ZoneKeys

        /// The name of the key that seals.
        var keyID: String { keys.newest.id.text }

        /// Returns the number of bytes of a file when it is sealed.
        func sealedCount(ofFile count: Int) -> Int { Cut.sealedCount(ofFile: count) }

        /// Seals a file. The same file is sealed the same under one key, so that an interrupted upload can go on.
        /// Blocks the thread, for about a second for each gigabyte.
        /// - Parameters:
        ///   - sealed: the path of the file to make.
        ///   - field: the field of the file, for the error.
        func seal(_ path: String, to sealed: String, of field: String) throws(CKError) -> SealedFile {
            guard let file = FileHandle(forReadingAtPath: path) else { throw .assetNotReadable(field) }
            defer { try? file.close() }
            return try Self.writing(to: sealed) { out throws(CKError) in
                guard let sealing = try? ChunkSealing(keys.newest, place: keys.place) else { throw .assetNotReadable(field) }
                var roots: [Digest] = []
                var announced = AnnouncedFile(chunks: [])
                var isLast = false
                while !isLast {
                    guard let plain = try? file.bytes(Cut.length) else { throw .assetNotReadable(field) }
                    isLast = plain.count < Cut.length
                    guard let bytes = try? sealing.seal(plain, isLast: isLast).bytes else { throw .assetNotReadable(field) }
                    roots.append(Digest(of: bytes))
                    let half = bytes.count > ContentCutter.mostBytes ? bytes.count / 2 : bytes.count
                    for part in [bytes[..<half], bytes[half...]] where !part.isEmpty {
                        announced.chunks.append(.init(size: part.count, digest: SHA256.digest(Array(part))))
                    }
                    try Self.write(bytes, to: out)
                }
                return SealedFile(path: sealed, root: Cut.root(of: roots).bytes, announced: announced)
            }
        }

        /// Opens a sealed file that has arrived. Nothing is at the path before all of it was checked. Blocks the thread
        /// as `seal` does.
        /// - Parameters:
        ///   - path: the path of the plain file to make.
        ///   - root: the root in the record's manifest, which was checked.
        ///   - field: the field of the file, for the error.
        func open(_ sealed: String, to path: String, root: [UInt8], of field: String, in recordID: CKRecord.ID) throws(CKError) {
            guard let file = FileHandle(forReadingAtPath: sealed) else { throw .assetGone(field) }
            defer { try? file.close() }
            let part = path + ".part"
            let isWhole = try Self.writing(to: part) { out throws(CKError) in
                var roots: [Digest] = []
                var openers: [KeyID: ChunkSealing] = [:]
                let ranges = (try? file.seekToEnd()).flatMap { Cut.ranges(inSealedFile: Int(clamping: $0)) } ?? []
                guard !ranges.isEmpty, (try? file.seek(toOffset: 0)) != nil else { return false }
                for (number, range) in ranges.enumerated() {
                    guard let bytes = try? file.bytes(range.count), bytes.count == range.count,
                        let chunk = try? NacreEncryptionForms.SealedValue(bytes), let key = keys.key(chunk.keyID),
                        let opener = try? openers[key.id] ?? ChunkSealing(key, place: keys.place),
                        let plain = try? opener.open(chunk, isLast: number == ranges.count - 1)
                    else { return false }
                    openers[key.id] = opener
                    roots.append(Digest(of: bytes))
                    try Self.write(plain, to: out)
                }
                return Cut.root(of: roots).bytes == root
            }
            guard isWhole, rename(part, path) == 0 else {
                let cause = NSError(domain: NSPOSIXErrorDomain, code: Int(errno))
                unlink(part)
                throw isWhole ? .assetNotKept(cause) : CKError(SecretFault.file(field: field), of: recordID)
            }
        }

        /// Makes a file of this user alone, which is removed if the writing fails.
        private static func writing<Value>(to path: String, _ write: (FileHandle) throws(CKError) -> Value) throws(CKError) -> Value {
            let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .assetNotKept(NSError(domain: NSPOSIXErrorDomain, code: Int(errno))) }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            defer { try? file.close() }
            do throws(CKError) {
                return try write(file)
            } catch {
                unlink(path)
                throw error
            }
        }

        private static func write(_ bytes: [UInt8], to file: FileHandle) throws(CKError) {
            do {
                try file.write(contentsOf: bytes)
            } catch {
                throw .assetNotKept(error as NSError)
            }
        }
    }

    extension FileHandle {
        /// Reads bytes, fewer at the end of the file.
        fileprivate func bytes(_ count: Int) throws -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count)
            while bytes.count < count, let more = try read(upToCount: count - bytes.count), !more.isEmpty { bytes += more }
            return bytes
        }
    }
#else
    /// Never made: a build over URLSession seals and opens nothing.
    enum ZoneFiles: Sendable {
        var keyID: String { switch self {} }

        func sealedCount(ofFile count: Int) -> Int { switch self {} }
        func seal(_ path: String, to sealed: String, of field: String) throws(CKError) -> SealedFile { switch self {} }
        func open(_ sealed: String, to path: String, root: [UInt8], of field: String, in recordID: CKRecord.ID) throws(CKError) { switch self {} }
    }
#endif
