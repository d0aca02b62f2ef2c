import CloudKit

/// Runs a command line: words in, lines out.
struct PartyCommand {
    static let usage = """
        party add TITLE LATITUDE,LONGITUDE DATE [PHOTO]   DATE as 2026-06-01T15:00:00Z
        party list
        party near LATITUDE,LONGITUDE KILOMETRES
        party show TITLE
        party hire TITLE CLOWN FEE
        party move TITLE DATE
        party photo TITLE FILE
        party cancel TITLE
        """

    let planner: PartyPlanner
    let say: (String) -> Void

    func run(_ words: [String]) async throws {
        switch (words.first, words.dropFirst().map { $0 }) {
        case ("add", let rest) where rest.count == 3 || rest.count == 4:
            let photo = rest.count == 4 ? URL(filePath: rest[3]) : nil
            let party = try await planner.add(rest[0], at: try Self.place(rest[1]), on: try Self.date(rest[2]), photo: photo)
            say("added \(Self.line(party))")
        case ("list", let rest) where rest.isEmpty:
            for party in try await planner.parties() { say(Self.line(party)) }
        case ("near", let rest) where rest.count == 2:
            guard let kilometres = Double(rest[1]), kilometres > 0 else { throw PartyError.usage("KILOMETRES is a number above 0, as 5") }
            let place = try Self.place(rest[0])
            for party in try await planner.parties(within: kilometres * 1000, of: place) {
                say("\(Self.line(party)), \(Int((party.place.distance(from: place) / 1000).rounded())) km away")
            }
        case ("show", let rest) where rest.count == 1:
            let party = try await planner.party(titled: rest[0])
            say(Self.line(party))
            for clown in try await planner.clowns(of: party) { say("  \(clown.name) for \(clown.fee)") }
        case ("hire", let rest) where rest.count == 3:
            guard let fee = Int(rest[2]) else { throw PartyError.usage("FEE is a whole number, as 50") }
            try await planner.hire(rest[1], fee: fee, for: try await planner.party(titled: rest[0]))
            say("hired \(rest[1])")
        case ("move", let rest) where rest.count == 2:
            let party = try await planner.move(try await planner.party(titled: rest[0]), to: try Self.date(rest[1]))
            say("moved \(Self.line(party))")
        case ("photo", let rest) where rest.count == 2:
            guard let photo = try await planner.photo(of: try await planner.party(titled: rest[0])) else {
                say("no photo")
                return
            }
            try FileManager.default.copyItem(at: photo, to: URL(filePath: rest[1]))
            say("copied to \(rest[1])")
        case ("cancel", let rest) where rest.count == 1:
            try await planner.cancel(try await planner.party(titled: rest[0]))
            say("cancelled \(rest[0])")
        default: throw PartyError.usage(Self.usage)
        }
    }

    private static func line(_ party: Party) -> String {
        "\(party.title), \(party.start.formatted(.iso8601))"
    }

    private static func place(_ text: String) throws -> CLLocation {
        let parts = text.split(separator: ",").compactMap { Double($0) }
        guard parts.count == 2, CLLocationCoordinate2DIsValid(CLLocationCoordinate2D(latitude: parts[0], longitude: parts[1])) else {
            throw PartyError.usage("\(text): a place is LATITUDE,LONGITUDE in degrees, as 48.8584,2.2945")
        }
        return CLLocation(latitude: parts[0], longitude: parts[1])
    }

    private static func date(_ text: String) throws -> Date {
        guard let date = try? Date(text, strategy: .iso8601) else { throw PartyError.usage("\(text): a date is as 2026-06-01T15:00:00Z") }
        return date
    }
}
