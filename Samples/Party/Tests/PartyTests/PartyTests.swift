import CloudKit
import CloudKitTesting
import Testing

@testable import party

@Suite struct PartyTests {
    private let cloud: TestCloud
    private let ada: PartyPlanner
    private let bob: PartyPlanner
    private let start = Date(timeIntervalSince1970: 1_906_556_400)
    private let tower = CLLocation(latitude: 48.8584, longitude: 2.2945)
    private let opera = CLLocation(latitude: 48.8720, longitude: 2.3316)
    private let lyon = CLLocation(latitude: 45.7640, longitude: 4.8357)

    init() async throws {
        cloud = try await TestCloud()
        ada = PartyPlanner(try await cloud.signIn("ada"))
        bob = PartyPlanner(try await cloud.signIn("bob"))
    }

    @Test func `everybody sees every party, the next one first`() async throws {
        #expect(try await bob.parties(from: start).isEmpty, "of a cloud where nobody has saved one")
        _ = try await ada.add("Tower", at: tower, on: start.addingTimeInterval(60))
        _ = try await ada.add("Opera", at: opera, on: start)
        #expect(try await bob.parties(from: start).map(\.title) == ["Opera", "Tower"])
        #expect(try await bob.parties(from: start.addingTimeInterval(1)).map(\.title) == ["Tower"], "what has begun is over")
        #expect(try await PartyPlanner(cloud.signedOut()).parties(from: start).count == 2, "without an account too")
    }

    @Test func `parties around a place are found, the nearest first, and those beyond are not`() async throws {
        for (title, place) in [("Lyon", lyon), ("Tower", tower), ("Opera", opera)] { _ = try await ada.add(title, at: place, on: start) }
        #expect(try await bob.parties(within: 20_000, of: opera).map(\.title) == ["Opera", "Tower"])
        #expect(try await bob.parties(within: 1_000, of: opera).map(\.title) == ["Opera"])
        #expect(try await bob.parties(within: 600_000, of: opera).map(\.title) == ["Opera", "Tower", "Lyon"])
    }

    @Test func `more parties than a page has are all listed`() async throws {
        for number in 0..<250 { _ = try await ada.add("\(number)", at: tower, on: start.addingTimeInterval(Double(number))) }
        #expect(try await bob.parties(from: start).map(\.title) == (0..<250).map(String.init))
    }

    @Test func `clowns come to one party, whoever hired them, and go with it`() async throws {
        let (one, other) = (try await ada.add("Tower", at: tower, on: start), try await ada.add("Opera", at: opera, on: start))
        try await ada.hire("Grock", fee: 80, for: one)
        try await bob.hire("Bozo", fee: 50, for: one)
        try await bob.hire("Oleg", fee: 60, for: other)
        #expect(try await ada.clowns(of: one).map(\.name) == ["Bozo", "Grock"])
        try await ada.cancel(one)
        let snapshot = try await cloud.snapshot()
        #expect(snapshot.contains("Oleg") && !snapshot.contains("Bozo") && !snapshot.contains("Grock"))
    }

    @Test func `a party is moved over what somebody else changed meanwhile`() async throws {
        let party = try await ada.add("Tower", at: tower, on: start)
        let database = try await cloud.signIn("ada", device: "pad").publicCloudDatabase
        let record = try await database.record(for: party.id)
        record[Party.Key.title] = "Tower, by night"
        _ = try await database.save(record)
        let moved = try await ada.move(party, to: start.addingTimeInterval(3600))
        #expect(moved.title == "Tower, by night" && moved.start == start.addingTimeInterval(3600))
    }

    @Test func `only who gives a party can move or cancel it`() async throws {
        let party = try await ada.add("Tower", at: tower, on: start)
        let error = await #expect(throws: CKError.self) { try await bob.cancel(party) }
        #expect(error?.code == .permissionFailure)
        #expect(try await ada.parties(from: start).count == 1)
    }

    @Test func `a photo is fetched for who asks for it, and not in lists`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).jpg")
        defer { try? FileManager.default.removeItem(at: file) }
        let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        try bytes.write(to: file)
        let (with, without) = (
            try await ada.add("Tower", at: tower, on: start, photo: file), try await ada.add("Opera", at: opera, on: start)
        )
        let photo = try #require(try await bob.photo(of: with))
        #expect(try Data(contentsOf: photo) == bytes)
        #expect(try await bob.photo(of: without) == nil)
        #expect(with.hasPhoto && !without.hasPhoto)
        #expect(try await bob.parties(from: start).allSatisfy { !$0.hasPhoto })
    }

    @Test func `the command says what it did, and what it was not told rightly`() async throws {
        var lines: [String] = []
        let command = PartyCommand(planner: ada, say: { lines.append($0) })
        try await command.run(["add", "Tower", "48.8584,2.2945", "2026-06-01T15:00:00Z"])
        try await command.run(["hire", "Tower", "Bozo", "50"])
        try await command.run(["near", "48.8720,2.3316", "20"])
        try await command.run(["show", "Tower"])
        #expect(
            lines == [
                "added Tower, 2026-06-01T15:00:00Z", "hired Bozo", "Tower, 2026-06-01T15:00:00Z, 3 km away", "Tower, 2026-06-01T15:00:00Z",
                "  Bozo for 50",
            ])
        await #expect(throws: PartyError.noParty("Opera")) { try await command.run(["show", "Opera"]) }
        for words in [
            [], ["list", "x"], ["near", "91,0", "5"], ["near", "1,1", "-5"], ["add", "a", "1,1", "today"], ["hire", "Tower", "Bozo", "x"],
        ] {
            await #expect(throws: PartyError.self) { try await command.run(words) }
        }
    }
}
