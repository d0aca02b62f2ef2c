import Foundation
import NacreCloudTestSupport

/// Follows the feeds of all zones from token to token, begins anew now and then, and looks at batches while they are being written.
struct Reader: Sendable {
    private let zones: [String]
    private let client: SurvivingClient
    private let log: OutsideLog
    private var seed: SeededRandom
    private var readings: [String: [History.Page]] = [:]

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
            // The next turn comes with news.
            let known = log.acknowledged
            await log.acknowledged(known + 1)
        }
        while try await step() {}
        for zone in zones { end(zone) }
    }

    /// One request for all zones.
    /// - Returns: whether any has more.
    private mutating func step() async throws -> Bool {
        if seed.chance(12), let zone = zones.randomElement(using: &seed), readings[zone]?.last?.moreComing == false { end(zone) }
        let asked = zones.map { zone in
            RawZoneChanges(
                zoneID: RawZoneID(zoneName: zone), syncToken: readings[zone]?.last?.token, resultsLimit: Int.random(in: 1...200, using: &seed))
        }
        let answer = try await client.post("changes/zone", RawZones(zones: asked), as: RawZones.self)
        var moreComing = false
        for (asked, zone) in zip(asked, answer.zones) {
            let page = try History.Page(zone, after: asked.syncToken)
            readings[asked.zoneID.zoneName, default: []].append(page)
            if page.moreComing || asked.syncToken == nil { moreComing = true }
        }
        return moreComing
    }

    /// Keeps what was read, and lets the next turn begin without a token.
    private mutating func end(_ zone: String) {
        if let reading = readings.removeValue(forKey: zone) { log.add(reading, in: zone) }
    }

    private mutating func look() async throws {
        guard let (zone, batch) = log.recent(&seed) else { return }
        let answer = try await client.post("records/lookup", RawLookup(batch.writes.map(\.record), in: zone), as: RawRecords.self)
        log.add(History.Look(batch: batch.id, sightings: answer.records.compactMap(History.Sighting.init)), in: zone)
    }
}

extension History.Page {
    init(_ zone: RawZoneChanges, after token: String?) throws {
        guard let next = zone.syncToken, let records = zone.records, let moreComing = zone.moreComing else {
            throw UnexpectedAnswer(status: 200, body: "changes/zone: \(zone.serverErrorCode ?? "no token")")
        }
        self.init(after: token, token: next, sightings: records.compactMap(History.Sighting.init), moreComing: moreComing)
    }
}
