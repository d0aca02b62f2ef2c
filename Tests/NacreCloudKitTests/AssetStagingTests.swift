import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of the folder of fetched assets, and of its cleanup.
struct AssetStagingTests {
    @Test(
        arguments: [
            (["XDG_CACHE_HOME": "/caches", "HOME": "/home/a"], "/caches/nacre/assets"),
            (["XDG_CACHE_HOME": "caches", "HOME": "/home/a"], "/home/a/.cache/nacre/assets"), (["HOME": "/home/a"], "/home/a/.cache/nacre/assets"),
        ] as [([String: String], String)])
    func `it is a folder of caches`(environment: [String: String], folder: String) {
        #expect(AssetStaging.folder(environment: environment) == folder)
    }

    private static let day = 24 * 3600.0
    private static let half = AssetStaging.bytesMax / 2

    @Test(
        arguments: [
            ([], []),
            ([StagedFile(name: "a", bytes: 1, age: 3.1 * day), StagedFile(name: "b", bytes: 1, age: 2.9 * day)], ["a"]),
            // The oldest are deleted until the rest is small enough.
            (
                [
                    StagedFile(name: "new", bytes: half, age: 700), StagedFile(name: "old", bytes: half, age: 900),
                    StagedFile(name: "mid", bytes: 1, age: 800),
                ],
                ["old"]
            ),
            // New files stay, whatever their size, and a clock that was set back does no harm.
            ([StagedFile(name: "huge", bytes: 3 * half, age: 10), StagedFile(name: "ahead", bytes: half, age: -5000)], []),
            ([StagedFile(name: "huge", bytes: 3 * half, age: 601), StagedFile(name: "a", bytes: half, age: 602)], ["a", "huge"]),
        ] as [([StagedFile], [String])])
    func `old files are swept, and the oldest of too many`(files: [StagedFile], swept: [String]) {
        #expect(AssetStaging.swept(files) == swept)
    }

    @Test func `the folder is its user's alone, and sweeps itself when it is used again later`() async throws {
        let parent = try TemporaryFolder()
        let time = Locked(Date())
        let staging = AssetStaging(folder: parent.path + "/nacre/assets") { time.withLock { $0 } }
        let path = try await staging.place()
        #expect(path.hasPrefix(staging.folder + "/") && !FileManager.default.fileExists(atPath: path))
        #expect(try FileManager.default.attributesOfItem(atPath: staging.folder)[.posixPermissions] as? Int == 0o700)
        try "bytes".write(toFile: path, atomically: false, encoding: .utf8)
        _ = try await staging.place()
        #expect(FileManager.default.fileExists(atPath: path))
        time.withLock { $0 += 4 * Self.day }
        _ = try await staging.place()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a sealed file on its way to the server stays, whatever its size, until it is too old`() async throws {
        let parent = try TemporaryFolder()
        let time = Locked(Date())
        let staging = AssetStaging(folder: parent.path + "/nacre/assets") { time.withLock { $0 } }
        let path = try await staging.placeForSending()
        #expect(path.hasPrefix(staging.folder + "/sending/"))
        for folder in [staging.folder, staging.folder + "/sending"] {
            #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
        }
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try #require(FileHandle(forWritingAtPath: path))
        // A file of holes takes no room.
        try file.truncate(atOffset: UInt64(2 * AssetStaging.bytesMax))
        try file.close()
        time.withLock { $0 += 2 * Self.day }
        _ = try await staging.place()
        #expect(FileManager.default.fileExists(atPath: path))
        time.withLock { $0 += 2 * Self.day }
        _ = try await staging.place()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a folder that cannot be made fails the record, and says why`() async throws {
        let parent = try TemporaryFolder()
        try "a file".write(toFile: parent.path + "/nacre", atomically: false, encoding: .utf8)
        let staging = AssetStaging(folder: parent.path + "/nacre/assets")
        let error = await #expect(throws: CKError.self) { try await staging.place() }
        #expect(error?.code == .assetNotAvailable && error?.userInfo[NSUnderlyingErrorKey] != nil)
    }

    @Test func `progress is the part of all bytes, told by the percent and never as whole`() {
        let told = Locked<[Double]>([])
        let progress = AssetProgress(sizes: [100, 300]) { fraction in told.withLock { $0.append(fraction) } }
        for (bytes, asset) in [(50, 0), (51, 0), (150, 1), (0, 0), (100, 0), (300, 1)] { progress.note(bytes, of: asset) }
        #expect(told.withLock { $0 } == [0.125, 0.5025, 0.375, 0.625])
        let nothing = AssetProgress(sizes: [0]) { _ in Issue.record("nothing has no parts") }
        nothing.note(0, of: 0)
    }
}
