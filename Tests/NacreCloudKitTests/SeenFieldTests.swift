import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of the fields that a device knows as encrypted, over a server that shows one of them plain.
struct SeenFieldTests {
    private static let zone = ZoneID(zoneName: "Notes")
    private let cloud = PretendCloud()
    private let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder(on: .memory)
        await cloud.addZone("Notes")
    }

    /// Returns the private database in a new process of the device.
    private func database(_ device: String = "keys") throws -> CKDatabase {
        CKContainer(line: try KeyDevice(cloud, in: folder, device).line).privateCloudDatabase
    }

    /// Saves a record with encrypted values, and has the server show it and another one plain.
    private func makePlain() async throws {
        let a = try database()
        try await a.save(SealedNote.note())
        try await a.save(SealedNote.note(["c": "cake"], named: "other"))
        for name in ["note", "other"] {
            await cloud.alter(name, in: Self.zone) { record in
                record.manifest = nil
                for field in ["a", "b", "c"] where record.fields[field] != nil { record.fields[field] = .string("plain") }
            }
        }
    }

    @Test func `A22: a new process of a device refuses a field that becomes plain, and names it`() async throws {
        try await makePlain()
        let error = try #require(await #expect(throws: CKError.self) { try await database().record(for: SealedNote.id) })
        #expect(error.code == .internalError && error.localizedDescription.contains("arrived without encryption"), "\(error)")
        #expect(["a", "b"].contains(error.userInfo["CKErrorField"] as? String))
        // A device that has seen nothing cannot know.
        #expect(try await database("stranger").record(for: SealedNote.id)["a"] as? String == "plain")
    }

    @Test func `the file of seen fields has each once, and is bounded`() async throws {
        try await makePlain()
        let line = try KeyDevice(cloud, in: folder).line
        let settings = try line.settings()
        var seen = try await line.keyStore.seenFields(settings)
        #expect(seen.types == ["Note": ["a", "b", "c"]])
        for number in 0..<SeenFields.fieldsMax { seen.note("field\(number)", of: "Type\(number % 7)") }
        #expect(seen.types.values.reduce(0) { $0 + $1.count } == SeenFields.fieldsMax)
        let other = SeenRecords.FieldName(type: "Note", field: "a")
        try await line.keyStore.note([other, other], settings)
        #expect(try await line.keyStore.seenFields(settings).types == ["Note": ["a", "b", "c"]])
    }

    @Test func `a file of seen fields that is damaged is told, and records are read all the same`() async throws {
        try await makePlain()
        let line = try KeyDevice(cloud, in: folder).line
        let path = "\(folder.path)/keys/\(SeenFields(try line.settings()).fileName)"
        try Data("{".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try #require(await #expect(throws: CKError.self) { try await line.keyStore.seenFields(line.settings()) }).code == .internalError)
        #expect(try await database().record(for: SealedNote.id)["a"] as? String == "plain")
    }
}
