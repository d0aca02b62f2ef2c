import Foundation
import NacreCloudTestSupport
import NacreCrypto
import Testing

@testable import CloudKit

/// Tests of the files that keep this device's keys.
struct KeyStoreTests {
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test(
        arguments: [
            (["XDG_DATA_HOME": "/data", "HOME": "/home/a"], "/data/nacre/keys"),
            (["XDG_DATA_HOME": "data", "HOME": "/home/a"], "/home/a/.local/share/nacre/keys"),
            (["HOME": "/home/a"], "/home/a/.local/share/nacre/keys"),
        ])
    func `the folder is the one that the system has for data`(variables: [String: String], folder: String) {
        #expect(KeyStore(environment: variables).folder == folder)
    }

    @Test func `a file is its user's alone, and so is the folder, also one that was open to others`() async throws {
        let folder = try TemporaryFolder(on: .memory)
        let path = folder.path + "/data/keys"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try await KeyStore(folder: path).update("one") { _ in ([1], ()) }
        #expect(mode(path) == 0o700 && mode(path + "/one") == 0o600)
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: path)) == ["one", "one.lock"])
    }

    @Test(arguments: [0o640, 0o604, 0o620] as [mode_t])
    func `a file that others may read or write is refused, and the remedy names it`(mode: mode_t) async throws {
        let folder = try TemporaryFolder(on: .memory)
        let store = KeyStore(folder: folder.path)
        try await store.update("one") { _ in ([1], ()) }
        #expect(chmod(folder.path + "/one", mode) == 0)
        let error = try #require(await #expect(throws: CKError.self) { try await store.read("one") { $0 } })
        #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("chmod 600 '\(folder.path)/one'") == true)
        await #expect(throws: CKError.self) { try await store.update("one") { _ in ([2], ()) } }
    }

    @Test func `a change that fails leaves the file as it was`() async throws {
        let folder = try TemporaryFolder(on: .memory)
        let store = KeyStore(folder: folder.path)
        try await store.update("one") { _ in ([1], ()) }
        await #expect(throws: CKError.self) { try await store.update("one") { _ throws(CKError) -> ([UInt8]?, Void) in throw .noKeysHere } }
        #expect(try await store.read("one") { $0 } == [1])
    }

    @Test func `a draft that a killed process left does not stand in the way`() async throws {
        let folder = try TemporaryFolder(on: .memory)
        try Data([9]).write(to: URL(fileURLWithPath: folder.path + "/one.new"))
        let store = KeyStore(folder: folder.path)
        try await store.update("one") { bytes in ((bytes ?? []) + [1], ()) }
        #expect(try await store.read("one") { $0 } == [1])
    }

    @Test func `two processes that change a file at once lose no change`() async throws {
        let folder = try TemporaryFolder(on: .memory)
        let stores = [KeyStore(folder: folder.path), KeyStore(folder: folder.path)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask { try await stores[number % 2].update("one") { bytes in ((bytes ?? []) + [UInt8(number)], ()) } }
            }
            try await group.waitForAll()
        }
        #expect(try await stores[0].read("one") { $0 }?.sorted() == (0..<40).map { UInt8($0) })
    }

    @Test(arguments: [true, false]) func `a lock is given to one process, and to another when it was given back`(isInMemory: Bool) async throws {
        let folder = try TemporaryFolder(on: .memory)
        let store = KeyStore(folder: isInMemory ? nil : folder.path)
        let other = isInMemory ? store : KeyStore(folder: folder.path)
        let unlock = try await store.lockIfFree("one")
        let isHeld = try await other.lockIfFree("one") == nil
        #expect(unlock != nil && isHeld)
        unlock?()
        let isFree = try await other.lockIfFree("one") != nil
        #expect(isFree)
    }

    @Test func `the key of archives is made once, and another process has the same`() throws {
        let folder = try TemporaryFolder(on: .memory)
        let first = KeyStore(folder: folder.path)
        let key = try first.archiveKey()
        #expect(key.count == 32)
        #expect(try first.archiveKey() == key)
        #expect(try KeyStore(folder: folder.path).archiveKey() == key)
        #expect(try KeyStore(folder: folder.path + "/other").archiveKey() != key)
        #expect(mode(folder.path + "/archives") == 0o600)
    }

    @Test func `a file of another form is said to be damaged, and stays`() async throws {
        let folder = try TemporaryFolder(on: .memory)
        let store = KeyStore(folder: folder.path)
        let account = try #require(KeyDevice.account)
        try await store.update(account.fileName) { _ in (Array("{}".utf8), ()) }
        await #expect(throws: CKError.self) { try await store.keys(of: account) }
        await #expect(throws: CKError.self) { try await store.update(account) { $0.recovery = nil } }
        #expect(try await store.read(account.fileName) { $0 } == Array("{}".utf8))
    }
}
