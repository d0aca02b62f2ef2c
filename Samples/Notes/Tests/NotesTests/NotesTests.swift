import CloudKit
import CloudKitTesting
import Testing

@testable import notes

@Suite final class NotesTests {
    private let cloud: TestCloud
    private let folder = FileManager.default.temporaryDirectory.appending(path: "notes-\(UUID().uuidString)")

    init() async throws {
        cloud = try await TestCloud()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Starts the app on a device; a second launch with the same cache follows the end of the first.
    private func launch(_ device: String, of user: String = "ada") async throws -> NoteSync {
        try NoteSync(try await cloud.signIn(user, device: device), cache: folder.appending(path: "\(device).db").path)
    }

    private func shown(_ sync: NoteSync) async throws -> [String] {
        var lines: [String] = []
        let command = NoteCommand(sync: sync, container: try await cloud.signIn("ada"), say: { lines.append($0) })
        try await command.run(["list"])
        return lines
    }

    @Test func `a note that is written on the phone is read on the pad, in its folder`() async throws {
        let (phone, pad) = (try await launch("phone"), try await launch("pad"))
        try await phone.add("Groceries", text: "bread", toFolder: "Home")
        #expect(try await shown(phone) == ["Home", "  Groceries (not sent)"])
        try await phone.sync()
        #expect(try await pad.sync() == ["folder Home", "note Groceries"])
        #expect(try await shown(pad) == ["Home", "  Groceries"])
        #expect(try await shown(phone) == ["Home", "  Groceries"])
        #expect(try await pad.note(titled: "Groceries").text == "bread")
        #expect(try await pad.sync() == [], "once")
    }

    @Test func `what was written without a network is sent by the next launch`() async throws {
        cloud.fail(next: 100, .any, by: "ada", device: "phone", with: .networkUnavailable)
        let phone = try await launch("phone")
        try await phone.add("Groceries", text: "bread", toFolder: "Home")
        await #expect(throws: CKError.self) { try await phone.sync() }
        cloud.removeFaults()
        try await launch("phone").sync()
        #expect(
            try await cloud.snapshot() == """
                users: ada
                private of ada
                  Notes
                    Folder #1
                      title = "Home"
                    Note #2
                      folder = -> #1, deletes
                      text = "bread"
                      title = "Groceries"

                """)
    }

    @Test func `of a note that two devices edit both texts stay`() async throws {
        let (phone, pad) = (try await launch("phone"), try await launch("pad"))
        try await phone.add("Groceries", text: "bread", toFolder: "Home")
        try await phone.sync()
        try await pad.sync()
        try await phone.edit("Groceries", text: "bread, olives")
        try await pad.edit("Groceries", text: "bread, milk")
        try await phone.sync()
        try await pad.sync()
        try await phone.sync()
        for device in [phone, pad] {
            #expect(try await device.note(titled: "Groceries").text == "bread, olives")
            #expect(try await device.note(titled: "Groceries (other version)").text == "bread, milk")
        }
        #expect(try await shown(phone) == shown(pad))
    }

    @Test func `a note that one device deletes and the other edits is there again`() async throws {
        let (phone, pad) = (try await launch("phone"), try await launch("pad"))
        try await phone.add("Groceries", text: "bread", toFolder: "Home")
        try await phone.sync()
        try await pad.sync()
        try await phone.deleteNote("Groceries")
        try await phone.sync()
        try await pad.edit("Groceries", text: "bread, milk")
        try await pad.sync()
        #expect(try await phone.sync() == ["note Groceries"])
        #expect(try await phone.note(titled: "Groceries").text == "bread, milk")
    }

    @Test func `a folder goes with its notes, on every device`() async throws {
        let (phone, pad) = (try await launch("phone"), try await launch("pad"))
        try await phone.add("Groceries", text: "bread", toFolder: "Home")
        try await phone.add("Lisbon", text: "tram 28", toFolder: "Trips")
        try await phone.sync()
        try await pad.sync()
        try await pad.deleteFolder("Home")
        try await pad.sync()
        let news = try await phone.sync()
        #expect(news == ["deleted Groceries", "deleted Home"])
        #expect(try await shown(phone) == ["Trips", "  Lisbon"])
        #expect(try await cloud.snapshot().contains("bread") == false)
        await #expect(throws: NotesError.noNote("Groceries")) { try await phone.note(titled: "Groceries") }
    }

    @Test func `what a busy server does not take is sent by a later sync`() async throws {
        let phone = try await launch("phone")
        cloud.fail(next: 2, .modifyRecords, by: "ada", with: .requestRateLimited(retryAfter: 2))
        try await phone.add("Groceries", text: "bread", toFolder: "Home")
        for _ in 0..<2 { await #expect(throws: CKError.self) { try await phone.sync() } }
        #expect(try await shown(phone) == ["Home", "  Groceries (not sent)"])
        try await phone.sync()
        #expect(cloud.pendingFaults.isEmpty)
        #expect(try await shown(phone) == ["Home", "  Groceries"])
    }

    @Test func `notes that the user purged are gone on every device, and nobody brings them back`() async throws {
        let (phone, pad) = (try await launch("phone"), try await launch("pad"))
        try await phone.add("Groceries", text: "bread", toFolder: "Home")
        try await phone.sync()
        try await pad.sync()
        try await cloud.removeZone("Notes", of: "ada")
        for device in [phone, pad] {
            try await device.sync()
            #expect(try await shown(device) == [])
        }
        #expect(try await cloud.snapshot().contains("bread") == false)
    }

    @Test func `another user's device begins empty, and who signs out leaves nothing`() async throws {
        let ada = try await launch("phone")
        try await ada.add("Groceries", text: "bread", toFolder: "Home")
        try await ada.sync()
        let bob = try await launch("phone", of: "bob")
        try await bob.sync()
        #expect(try await shown(bob) == [])
        #expect(try await cloud.snapshot().contains("private of bob\n    Note") == false)
    }

    @Test func `the command says what it was not told rightly`() async throws {
        let sync = try await launch("phone")
        let command = NoteCommand(sync: sync, container: try await cloud.signIn("ada"), say: { _ in })
        for words in [[], ["add", "a"], ["watch", "none"], ["list", "x"]] {
            await #expect(throws: NotesError.self) { try await command.run(words) }
        }
        await #expect(throws: NotesError.noFolder("x")) { try await command.run(["delete-folder", "x"]) }
    }
}
