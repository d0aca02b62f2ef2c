import Foundation
import NacreCloudWire

#if canImport(NacreCrypto)
    import NacreCrypto
#endif

/// A file's chunks, cut as the server cuts them.
enum FileChunks {
    /// Read at once.
    private static let pieceBytes = 1 << 20

    /// Reads the file; blocks while the system does, for a second or so for each 500 MB.
    /// - Returns: nil where this platform has no digests, or the file cannot be read: sending it says why.
    static func announced(_ path: String) -> AnnouncedFile? {
        #if canImport(NacreCrypto)
            guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
            defer { try? handle.close() }
            var cutter = ContentCutter()
            var file = AnnouncedFile(chunks: [])
            func add(_ bytes: [UInt8]) { file.chunks.append(.init(size: bytes.count, digest: SHA256.digest(bytes))) }
            do {
                while let piece = try handle.read(upToCount: pieceBytes), !piece.isEmpty { cutter.add(Array(piece), add) }
            } catch {
                return nil
            }
            if let rest = cutter.rest() { add(rest) }
            return file
        #else
            return nil
        #endif
    }
}

/// The bytes of a file that a server awaits, as they are sent: one behind the other, whatever lies between them in the file.
struct AwaitedParts: Equatable, Sendable {
    /// Ranges of the file.
    private(set) var runs: [Range<Int>] = []

    /// nil where a server asks for chunks that there are not.
    init?(_ file: AnnouncedFile, missing: [Int]) {
        var starts: [Int] = []
        var end = 0
        for chunk in file.chunks {
            starts.append(end)
            end += chunk.size
        }
        for index in missing {
            guard file.chunks.indices.contains(index), starts[index] >= runs.last?.upperBound ?? 0 else { return nil }
            let range = starts[index]..<starts[index] + file.chunks[index].size
            if let last = runs.last, last.upperBound == range.lowerBound {
                runs[runs.count - 1] = last.lowerBound..<range.upperBound
            } else {
                runs.append(range)
            }
        }
    }

    /// How much is sent in all.
    var bytes: Int { runs.reduce(0) { $0 + $1.count } }

    /// What is sent behind the first `offset` bytes, in one piece of the file; nil where there are not that many.
    func part(at offset: Int) -> (range: Range<Int>, isLast: Bool)? {
        var start = 0
        for (number, run) in runs.enumerated() {
            if offset < start + run.count, offset >= start { return (run.lowerBound + offset - start..<run.upperBound, number == runs.count - 1) }
            start += run.count
        }
        return offset == start ? (0..<0, true) : nil
    }
}
