import Foundation

/// Reads the final state after the last write: every record, and the pages from every token to the present.
struct Aftermath: Sendable {
    let client: SurvivingClient
    /// CloudKit: no more than 400 items a request for the framework.
    private static let lookupSize = 400

    /// Returns the history with its end, `final` and `replays`, and the records that prove themselves: seals and the
    /// counter.
    func completed(_ history: ZoneNotes) async throws -> (history: ZoneNotes, witnesses: [RawRecord]) {
        var history = history
        var witnesses: [RawRecord] = []
        let names = Set(history.batches.flatMap { $0.writes.map(\.record) }).sorted()
        for start in stride(from: 0, to: names.count, by: Self.lookupSize) {
            let some = Array(names[start..<min(start + Self.lookupSize, names.count)])
            let answer = try await client.post("records/lookup", RawLookup(some, in: history.zone), as: RawRecords.self)
            history.final += answer.records.compactMap(ZoneNotes.Sighting.init)
            witnesses += answer.records.filter { $0.recordName.map { Writer.isSeal($0) || $0 == Writer.counter } ?? false }
        }
        history.replays = try await replays(of: history)
        return (history, witnesses)
    }

    /// Returns the page after each token. A token gives the same page in the same state, so the pages of all tokens
    /// soon coincide.
    private func replays(of history: ZoneNotes) async throws -> [String: ZoneNotes.Page] {
        var pages: [String: ZoneNotes.Page] = [:]
        var open = Set(history.readings.joined().map(\.token)).sorted()
        while let token = open.popLast() {
            guard pages[token] == nil else { continue }
            let asked = RawZoneChanges(zoneID: RawZoneID(zoneName: history.zone), syncToken: token, resultsLimit: nil)
            let answer = try await client.post("changes/zone", RawZones(zones: [asked]), as: RawZones.self)
            let page = try ZoneNotes.Page(answer.zones[0], after: token)
            pages[token] = page
            open.append(page.token)
        }
        return pages
    }
}
