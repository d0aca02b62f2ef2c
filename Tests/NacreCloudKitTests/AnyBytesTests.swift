import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of the files with secrets that a device reads again, with bytes that it has not written.
struct AnyBytesTests {
    /// Returns bytes with a few of them changed, put in, taken out or cut off.
    private static func damaged(_ bytes: [UInt8], using random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
            case 3: bytes.remove(at: index)
            default: bytes.removeSubrange(index...)
            }
        }
        return bytes
    }

    @Test func `A25: a file of keys with any bytes is read as keys, or said to be damaged, and stays`() async throws {
        var random = SeededRandom()
        let store = KeyStore(folder: nil)
        _ = try await KeyDevice(PretendCloud(), store).toSave()
        let account = try #require(KeyDevice.account)
        let kept = try await store.read(account.fileName) { bytes throws(CKError) in bytes ?? [] }
        try #require(!kept.isEmpty)
        var refused = 0
        for _ in 0..<500 {
            let bytes = Self.damaged(kept, using: &random)
            try await store.update(account.fileName) { _ throws(CKError) in (bytes, ()) }
            do throws(CKError) {
                _ = try await store.keys(of: account)
            } catch {
                #expect(error.code == .internalError && error.localizedDescription.contains("damaged"), "\(random)")
                refused += 1
            }
            let left = try await store.read(account.fileName) { bytes throws(CKError) in bytes }
            #expect(left == bytes, "\(random)")
        }
        #expect(refused > 250, "\(random)")
    }

    @Test func `A25: a value of an archive with any bit changed is not there, and the others are`() async throws {
        let (setting, store) = (try await SealedNote(), KeyStore(folder: nil))
        let state = try setting.fetched(setting.saved(SealedNote.note())).snapshot
        let archive = try #require(ArchivedSecrets.$keys.withValue(store) { ArchivedSecrets(state.encrypted, of: state) })
        let sealed = try #require(archive.values["a"])
        for bit in 0..<sealed.count * 8 {
            var changed = archive
            changed.values["a"]?[sealed.startIndex + bit / 8] ^= 1 << UInt8(bit % 8)
            let opened = ArchivedSecrets.$keys.withValue(store) { changed.fields(of: state) }
            #expect(opened.values == ["b": .string("bread")], "bit \(bit)")
        }
    }
}
