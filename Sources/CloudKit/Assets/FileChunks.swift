import Foundation
import NacreCloudWire

#if canImport(NacreCrypto)
    import NacreCrypto
#endif

/// Cuts a file into the same chunks as the server.
enum FileChunks {
    /// Bytes that are read at once.
    private static let pieceBytes = 1 << 20

    /// Reads the file and returns its chunks. It blocks the thread, for about a second for each 500 MB.
    /// - Returns: nil if this platform has no digests, or if the file cannot be read: sending it then gives the reason.
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

/// The bytes of a file that a server awaits, as one sequence without the bytes between them in the file.
struct AwaitedParts: Equatable, Sendable {
    /// The ranges of the file.
    private(set) var runs: [Range<Int>] = []

    /// nil if the server asks for chunks that do not exist.
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

    /// The number of bytes to send.
    var bytes: Int { runs.reduce(0) { $0 + $1.count } }

    /// Returns the next range of the file to send after `offset` sent bytes; nil if there are not that many.
    func part(at offset: Int) -> (range: Range<Int>, isLast: Bool)? {
        var start = 0
        for (number, run) in runs.enumerated() {
            if offset < start + run.count, offset >= start { return (run.lowerBound + offset - start..<run.upperBound, number == runs.count - 1) }
            start += run.count
        }
        return offset == start ? (0..<0, true) : nil
    }
}
