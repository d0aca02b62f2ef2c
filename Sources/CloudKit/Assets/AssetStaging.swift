import Foundation
import NacreCloudWire
import NacreLocks

/// The folder that fetched assets are put into, of caches: `$XDG_CACHE_HOME/nacre/assets`, else `~/.cache/nacre/assets`. This user's alone.
///
/// CloudKit: the system cleans it at any time. Here it is swept by who puts something in, when that was long ago.
final class AssetStaging: Sendable {
    /// Bytes that stay after a sweep. Ours: the oldest files go first.
    static let bytesMax = 1 << 30
    /// How long a file stays at most, seconds. Ours: three days, so that an app that did not move its files may have them after a weekend.
    static let ageMax = 3 * 24 * 3600.0
    /// A file that was written in the last ten minutes stays, however much there is: its app has hardly heard of it.
    static let ageMin = 600.0
    /// Seconds between sweeps of one process.
    static let sweepInterval = 600.0

    static let shared = AssetStaging(folder: folder(environment: ProcessInfo.processInfo.environment))

    let folder: String
    private let now: @Sendable () -> Date
    private let lastSweep = Locked<Date?>(nil)

    /// - Parameter now: the time as files have it.
    init(folder: String, now: @escaping @Sendable () -> Date = { Date() }) {
        self.folder = folder
        self.now = now
    }

    /// Under XDG_CACHE_HOME, which must be absolute to count, or else ~/.cache.
    static func folder(environment variables: [String: String]) -> String {
        let caches = variables["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (caches ?? (variables["HOME"] ?? NSHomeDirectory()) + "/.cache") + "/nacre/assets"
    }

    /// A path in the folder that nothing has.
    func place() async throws(CKError) -> String {
        try await FileWork.run { [self] () throws(CKError) in
            do {
                try prepare()
            } catch {
                throw .assetNotKept(error as NSError)
            }
            return "\(folder)/\(UUID().uuidString)"
        }
    }

    /// The path, without an ending, of what is there of a large file that is on its way, the same in each process; nil for a small one.
    func keptPlace(of asset: Asset) -> String? {
        // What the server calls the bytes is no name of a file.
        guard asset.size >= AnnouncedFile.bytesMin, let checksum = Data(base64Encoded: asset.fileChecksum), (1...64).contains(checksum.count)
        else { return nil }
        return "\(folder)/\(checksum.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())-\(asset.size)"
    }

    private func prepare() throws {
        let time = now()
        let isDue = lastSweep.withLock { last in
            guard last.map({ time.timeIntervalSince($0) >= Self.sweepInterval || time < $0 }) ?? true else { return false }
            last = time
            return true
        }
        var isFolder: ObjCBool = false
        if !FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) || !isFolder.boolValue {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        guard isDue else { return }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
        sweep(time)
    }

    private func sweep(_ time: Date) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let files = names.compactMap { name -> StagedFile? in
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)"),
                attributes[.type] as? FileAttributeType == .typeRegular, let modified = attributes[.modificationDate] as? Date
            else { return nil }
            return StagedFile(name: name, bytes: (attributes[.size] as? Int) ?? 0, age: time.timeIntervalSince(modified))
        }
        for name in Self.swept(files) { try? FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
    }

    /// The files that go: those that are too old, and then the oldest until the rest is small enough.
    static func swept(_ files: [StagedFile]) -> [String] {
        var bytes = files.reduce(0) { $0 + $1.bytes }
        return files.sorted { $0.age > $1.age }.prefix { file in
            guard file.age > ageMin, file.age > ageMax || bytes > bytesMax else { return false }
            bytes -= file.bytes
            return true
        }.map(\.name)
    }

    /// Removes files that nobody was told of.
    static func remove(_ paths: [String]) async {
        guard !paths.isEmpty else { return }
        await FileWork.run { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
    }
}

/// A file of the staging folder.
struct StagedFile: Equatable, Sendable {
    var name: String
    var bytes: Int
    /// Seconds since it was written.
    var age: Double
}
