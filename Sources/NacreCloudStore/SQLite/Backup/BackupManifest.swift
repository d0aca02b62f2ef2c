import FoundationEssentials
import Glibc

/// The description of a backup, which stands after the database in the same file.
package struct BackupManifest: Codable, Hashable, Sendable {
    /// The version of the file's format; this build reads and writes 1.
    package var format = Self.currentFormat
    /// The version of nacre that wrote it.
    package var nacre: String
    /// The version of the database's tables (`PRAGMA user_version`).
    package var schemaVersion: Int32
    /// The time at which the copy of its snapshot was begun: `2026-01-31T12:00:00Z`.
    package var time: String
    /// The data folder of the backup.
    package var folder: String
    package var containers: Int
    package var databases: Int
    package var pageBytes: Int
    package var pages: Int
    /// Bytes of each chunk. The last one may be shorter.
    package var chunkBytes: Int
    /// SHA-256 of each chunk of the database, in hexadecimal digits.
    package var chunks: [String]
    /// SHA-256 of the whole database, in hexadecimal digits.
    package var sha256: String

    package static let currentFormat = 1

    /// Bytes of the database, with which the file begins.
    package var databaseBytes: Int64 { Int64(pages) * Int64(pageBytes) }

    static func read(_ bytes: [UInt8]) -> BackupManifest? {
        try? JSONDecoder().decode(BackupManifest.self, from: Data(bytes))
    }

    func written() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(self))
    }
}

/// A moment of the wall clock as text, in UTC. The texts sort by time.
package enum UTCText {
    /// Returns a time like `2026-01-31T12:00:00Z`.
    package static func time(_ seconds: Int) -> String { text(seconds, "%Y-%m-%dT%H:%M:%SZ") }

    /// Returns a time like `20260131T120000Z`, for names of files.
    package static func stamp(_ seconds: Int) -> String { text(seconds, "%Y%m%dT%H%M%SZ") }

    /// Returns the seconds since 1970 of a text from `time`; nil for other text.
    package static func seconds(_ text: String) -> Int? {
        let numbers = text.split(whereSeparator: { "-T:Z".contains($0) }).compactMap { Int32($0) }
        guard numbers.count == 6 else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        let seconds = timegm(&parts)
        return time(seconds) == text ? seconds : nil
    }

    private static func text(_ seconds: Int, _ format: String) -> String {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        var bytes = [CChar](repeating: 0, count: 40)
        strftime(&bytes, bytes.count, format, &parts)
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
