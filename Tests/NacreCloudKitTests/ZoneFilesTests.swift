import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of how files are sealed and opened, from file to file.
struct ZoneFilesTests {
    private static let id = CKRecord.ID(recordName: "note", zoneID: KeyDevice.notes)
    private static let chunk = NacreEncryptionForms.FileChunks.sealedLength
    private let folder: TemporaryFolder
    private let device: KeyDevice
    private let files: ZoneFiles

    init() async throws {
        folder = try TemporaryFolder(on: .memory)
        device = try KeyDevice(PretendCloud(), KeyStore(folder: nil))
        files = ZoneFiles(keys: try await device.toSave())
    }

    /// Bytes of which no two chunks are equal.
    private func bytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8 ^ $0 >> 20) &+ seed } }

    private func write(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: folder.url(name))
        return folder.url(name).path
    }

    private func read(_ path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { [UInt8]($0) } }

    private func sealed(_ bytes: [UInt8], _ name: String = "sealed", by files: ZoneFiles? = nil) throws -> SealedFile {
        let path = try write(bytes, "plain")
        return try (files ?? self.files).seal(path, to: folder.url(name).path, of: "photo")
    }

    /// Returns the error of opening bytes that should have a root, after a look that no file was left.
    private func refusal(_ bytes: [UInt8], root: [UInt8]) throws -> CKError? {
        let (sealed, path) = (try write(bytes, "other"), folder.url("opened").path)
        let error = #expect(throws: CKError.self) { try files.open(sealed, to: path, root: root, of: "photo", in: Self.id) }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!names.contains { $0.hasPrefix("opened") })
        return error
    }

    @Test(arguments: [0, 1, 1 << 20, 1 << 20 + 1]) func `a file opens as it was, and is sealed the same each time`(count: Int) throws {
        let plain = bytes(count)
        let first = try sealed(plain)
        let content = try #require(read(first.path))
        #expect(content.count == files.sealedCount(ofFile: count) && first.announced.size == Int64(content.count))
        var start = 0
        for chunk in first.announced.chunks {
            #expect(chunk.size <= 1 << 20 && SHA256.digest(Array(content[start..<start + chunk.size])) == chunk.digest)
            start += chunk.size
        }
        let again = try sealed(plain, "again")
        #expect(again.root == first.root && read(again.path) == content)
        let path = folder.url("opened").path
        try files.open(first.path, to: path, root: first.root, of: "photo", in: Self.id)
        #expect(read(path) == plain)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    @Test func `A13: a file with a chunk dropped, reordered, repeated or cut is refused, and leaves nothing`() throws {
        let file = try sealed(bytes(2 << 20 + 5))
        let content = try #require(read(file.path))
        let (first, second, last) = (content[..<Self.chunk], content[Self.chunk..<2 * Self.chunk], content[(2 * Self.chunk)...])
        var changed = content
        changed[Self.chunk + 500] ^= 1
        func joined(_ parts: ArraySlice<UInt8>...) -> [UInt8] { parts.flatMap(\.self) }
        let others: [[UInt8]] = [
            joined(first, last), joined(second, first, last), joined(first, second), joined(first, second, second, last), joined(last),
            joined(content.dropLast()), joined(content[...], [0]), changed, [],
        ]
        for other in others {
            let error = try refusal(other, root: file.root)
            #expect(error?.code == .internalError && error?.userInfo["CKErrorField"] as? String == "photo")
        }
    }

    @Test func `A15: a foreign file of the zone, a plain file and a file of another zone are refused`() async throws {
        let file = try sealed(bytes(100))
        let foreign = try #require(read(try sealed(bytes(100, seed: 2), "foreign").path))
        #expect(try refusal(foreign, root: file.root)?.code == .internalError)
        #expect(try refusal(bytes(100), root: file.root)?.code == .internalError)
        let otherZone = ZoneFiles(keys: try await device.toSave(.default))
        let elsewhere = try sealed(bytes(100), "elsewhere", by: otherZone)
        let content = try #require(read(elsewhere.path))
        #expect(try refusal(content, root: elsewhere.root)?.code == .internalError)
    }

    @Test func `A20: no chunk of a file is the same in two zones`() async throws {
        let plain = bytes(1 << 20 + 70_000)
        let here = try sealed(plain).announced.chunks.map(\.digest)
        let otherZone = ZoneFiles(keys: try await device.toSave(.default))
        let there = try sealed(plain, "there", by: otherZone).announced.chunks.map(\.digest)
        #expect(here.count == there.count && Set(here).isDisjoint(with: there))
    }

    @Test func `a file that is gone is an error of its field, and no sealed one is left`() throws {
        let error = #expect(throws: CKError.self) { try files.seal(folder.url("none").path, to: folder.url("sealed").path, of: "photo") }
        #expect(error?.code == .assetNotAvailable && error?.userInfo["CKErrorField"] as? String == "photo")
        #expect(read(folder.url("sealed").path) == nil)
    }
}
