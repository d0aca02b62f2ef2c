import Foundation
import NacreCloudTestSupport

/// Follows the feeds of all zones from token to token, begins anew at times, and looks up batches while they are
/// written.
struct Reader: Sendable {
    private let zones: [String]
    private let client: SurvivingClient
    private let log: OutsideLog
    private var seed: SeededRandom
    private var readings: [String: [ZoneNotes.Page]] = [:]

    init(zones: [String], client: SurvivingClient, log: OutsideLog, seed: SeededRandom) {
        self.zones = zones
        self.client = client
        self.log = log
        self.seed = seed
    }

    /// Reads until the writers are done, and then to the end of each feed.
    mutating func run() async throws {
        while !log.isClosed {
            _ = try await step()
            try await look()
            // The next step waits for an acknowledgement.
            let known = log.acknowledged
            await log.acknowledged(known + 1)
        }
        while try await step() {}
        for zone in zones { end(zone) }
    }

    /// Sends one request for all zones.
    /// - Returns: Whether any has more.
    private mutating func step() async throws -> Bool {
        if seed.chance(12), let zone = zones.randomElement(using: &seed), readings[zone]?.last?.moreComing == false { end(zone) }
        let asked = zones.map { zone in
            RawZoneChanges(
                zoneID: RawZoneID(zoneName: zone), syncToken: readings[zone]?.last?.token, resultsLimit: Int.random(in: 1...200, using: &seed))
        }
        let begun = log.tick()
        let answer = try await client.post("changes/zone", RawZones(zones: asked), as: RawZones.self)
        let ended = log.tick()
        var moreComing = false
        for (asked, zone) in zip(asked, answer.zones) {
            let page = try ZoneNotes.Page(zone, after: asked.syncToken, begun: begun, ended: ended)
            readings[asked.zoneID.zoneName, default: []].append(page)
            if page.moreComing || asked.syncToken == nil { moreComing = true }
        }
        return moreComing
    }

    /// Keeps the pages of a zone, and lets the next step begin without a token.
    private mutating func end(_ zone: String) {
        if let reading = readings.removeValue(forKey: zone) { log.add(reading, in: zone) }
    }

    private mutating func look() async throws {
        guard let (zone, batch) = log.recent(&seed) else { return }
        let begun = log.tick()
        let answer = try await client.post("records/lookup", RawLookup(batch.writes.map(\.record), in: zone), as: RawRecords.self)
        let sightings = answer.records.compactMap(ZoneNotes.Sighting.init)
        log.add(ZoneNotes.Look(begun: begun, ended: log.tick(), sightings: sightings), in: zone)
    }
}

extension ZoneNotes.Page {
    /// Makes a page of an answer.
    /// - Parameters:
    ///   - begun: The tick of the request; irrelevant for a page after the last write.
    init(_ zone: RawZoneChanges, after token: String?, begun: Int = 0, ended: Int = 0) throws {
        guard let next = zone.syncToken, let records = zone.records, let moreComing = zone.moreComing else {
            throw UnexpectedAnswer(status: 200, body: "changes/zone: \(zone.serverErrorCode ?? "no token")")
        }
        self.init(
            begun: begun, ended: ended, after: token, token: next, sightings: records.compactMap(ZoneNotes.Sighting.init), moreComing: moreComing)
    }
}
