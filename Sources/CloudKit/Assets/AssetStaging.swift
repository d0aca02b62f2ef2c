import Foundation
import NacreCloudWire
import NacreLocks

/// The cache folder of fetched assets: `$XDG_CACHE_HOME/nacre/assets`, otherwise `~/.cache/nacre/assets`. Only this
/// user can read it.
///
/// CloudKit: the system cleans it at any time. Here a process sweeps it when it adds a file, if its last sweep is long
/// enough ago.
final class AssetStaging: Sendable {
    /// Bytes that stay after a sweep; the oldest files are removed first. Own choice.
    static let bytesMax = 1 << 30
    /// The most seconds that a file stays. Own choice: three days, so that an app that did not move its files may find
    /// them after a weekend.
    static let ageMax = 3 * 24 * 3600.0
    /// Seconds for which a new file stays, whatever the folder's size: its app has hardly learned of it.
    static let ageMin = 600.0
    /// Seconds between sweeps of one process.
    static let sweepInterval = 600.0

    static let shared = AssetStaging(folder: folder(environment: ProcessInfo.processInfo.environment))

    let folder: String
    private let now: @Sendable () -> Date
    private let lastSweep = Locked<Date?>(nil)

    /// - Parameter now: the current time, by the clock of the file system.
    init(folder: String, now: @escaping @Sendable () -> Date = { Date() }) {
        self.folder = folder
        self.now = now
    }

    /// Returns the folder under `XDG_CACHE_HOME`, which must be absolute to count, otherwise under `~/.cache`.
    static func folder(environment variables: [String: String]) -> String {
        let caches = variables["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (caches ?? (variables["HOME"] ?? NSHomeDirectory()) + "/.cache") + "/nacre/assets"
    }

    /// The folder of sealed files on their way to the server. A sweep leaves a file there until it is too old, whatever
    /// the folder's size: a killed process has left it.
    private var sendingFolder: String { folder + "/sending" }

    /// Returns an unused path in the folder.
    func place() async throws(CKError) -> String { try await place(in: folder) }

    /// Returns an unused path for the sealed bytes of a file that is sent.
    func placeForSending() async throws(CKError) -> String { try await place(in: sendingFolder) }

    private func place(in place: String) async throws(CKError) -> String {
        try await FileWork.run { [self] () throws(CKError) in
            do {
                try prepare(place)
            } catch {
                throw .assetNotKept(error as NSError)
            }
            return "\(place)/\(UUID().uuidString)"
        }
    }

    /// Returns the path, without an ending, of the partial bytes of a large file, the same in each process; nil for a
    /// small file.
    func keptPlace(of asset: Asset) -> String? {
        // The server's checksum is not used as a file name: it may contain any characters.
        guard asset.size >= AnnouncedFile.bytesMin, let checksum = Data(base64Encoded: asset.fileChecksum), (1...64).contains(checksum.count)
        else { return nil }
        return "\(folder)/\(checksum.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())-\(asset.size)"
    }

    private func prepare(_ place: String) throws {
        let time = now()
        let isDue = lastSweep.withLock { last in
            guard last.map({ time.timeIntervalSince($0) >= Self.sweepInterval || time < $0 }) ?? true else { return false }
            last = time
            return true
        }
        var isFolder: ObjCBool = false
        if !FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) || !isFolder.boolValue {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        guard isDue else { return }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
        for name in Self.swept(files(in: folder, at: time)) { try? FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        for file in files(in: sendingFolder, at: time) where file.age > Self.ageMax {
            try? FileManager.default.removeItem(atPath: "\(sendingFolder)/\(file.name)")
        }
    }

    private func files(in folder: String, at time: Date) -> [StagedFile] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { name -> StagedFile? in
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)"),
                attributes[.type] as? FileAttributeType == .typeRegular, let modified = attributes[.modificationDate] as? Date
            else { return nil }
            return StagedFile(name: name, bytes: (attributes[.size] as? Int) ?? 0, age: time.timeIntervalSince(modified))
        }
    }

    /// Returns the files to remove: those that are too old, then the oldest until the rest is small enough.
    static func swept(_ files: [StagedFile]) -> [String] {
        var bytes = files.reduce(0) { $0 + $1.bytes }
        return files.sorted { $0.age > $1.age }.prefix { file in
            guard file.age > ageMin, file.age > ageMax || bytes > bytesMax else { return false }
            bytes -= file.bytes
            return true
        }.map(\.name)
    }

    /// Removes files that were not reported to the app.
    static func remove(_ paths: [String]) async {
        guard !paths.isEmpty else { return }
        await FileWork.run { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
    }
}

/// A file of the staging folder.
struct StagedFile: Equatable, Sendable {
    var name: String
    var bytes: Int
    /// Seconds since the file was written.
    var age: Double
}
