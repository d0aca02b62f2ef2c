import CloudKit
import Foundation

/// The demo's queries; each result is compared with the device's own copy.
extension AtlasDemo {
    static let nearestMax = 10
    /// The centre of the search for the ten nearest time zones: the middle of Europe.
    private static let here = CLLocation(latitude: 50.087, longitude: 14.421)
    /// Metres around the centre.
    private static let radius: CLLocationDistance = 3_000_000
    /// The word that languages are searched for, in any of their texts and in any case.
    private static let word = "creole"

    /// Queries the ten nearest time zones, nearest first.
    /// - Returns: Their record IDs.
    mutating func findNearest() async throws -> [CKRecord.ID] {
        let query = CKQuery(
            recordType: "TimeZone",
            predicate: NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", Self.here, Self.radius))
        query.sortDescriptors = [CKLocationSortDescriptor(key: "place", relativeLocation: Self.here)]
        let start = timeline.now
        let found = try await a.database.records(matching: query, inZoneWith: a.zoneID, desiredKeys: ["name"], resultsLimit: Self.nearestMax)
        let milliseconds = Timeline.text(timeline.seconds(since: start) * 1000, digits: 1)
        let names = try found.matchResults.map { try $0.1.get()["name"] as? String ?? "" }

        let places = await a.copy.values.compactMap { record -> (name: String, metres: CLLocationDistance)? in
            guard let name = record["name"] as? String, let place = record["place"] as? CLLocation else { return nil }
            return (name, place.distance(from: Self.here))
        }
        let expected = places.filter { $0.metres < Self.radius }.sorted { $0.metres < $1.metres }.prefix(Self.nearestMax)
        guard names == expected.map(\.name) else {
            throw DemoFailure("the nearest time zones are \(expected.map(\.name)), and the query found \(names)")
        }
        guard let nearest = expected.first, let farthest = expected.last else { throw DemoFailure("no time zone is within \(Self.radius) m") }
        report.nearest = nearest.name
        try timeline.say(
            "A asked for the \(names.count) time zones nearest to Prague: \(nearest.name), … \(farthest.name) (\(Int(farthest.metres / 1000)) km), "
                + "in \(milliseconds) ms")
        return found.matchResults.map(\.0)
    }

    /// Queries languages by a word of their texts, page by page, in the order of their names.
    mutating func findByWord() async throws {
        let query = CKQuery(recordType: "Language", predicate: NSPredicate(format: "self CONTAINS %@", Self.word))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let start = timeline.now
        var pages = 1
        var (results, cursor) = try await b.database.records(matching: query, inZoneWith: b.zoneID, resultsLimit: 25)
        while let next = cursor {
            let page = try await b.database.records(continuingMatchFrom: next, resultsLimit: 25)
            results += page.matchResults
            cursor = page.queryCursor
            pages += 1
        }
        let milliseconds = Timeline.text(timeline.seconds(since: start) * 1000, digits: 1)
        let names = try results.map { try $0.1.get()["name"] as? String ?? "" }

        let expected = await b.copy.values.filter { $0.recordType == "Language" && $0.allTokens().contains(Self.word) }
            .compactMap { $0["name"] as? String }.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        guard !names.isEmpty, names == expected else {
            throw DemoFailure("\(expected.count) languages have the word \(Self.word), and the query found \(names.count)")
        }
        report.languagesByWord = names.count
        try timeline.say("B found the \(names.count) languages with the word “\(Self.word)” in \(pages) pages: \(names[0]), … in \(milliseconds) ms")
    }

    /// Saves a trip through time zones: stops that belong to it, notes that belong to stops. Deletes the trip; the
    /// server deletes all of it.
    mutating func cascade(through zones: [CKRecord.ID]) async throws {
        func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: a.zoneID) }
        let trip = CKRecord(recordType: "Trip", recordID: id("trip"))
        trip["title"] = "Around Prague"
        var records = [trip]
        for (number, zone) in zones.enumerated() {
            let stop = CKRecord(recordType: "Stop", recordID: id("trip.stop\(number)"))
            stop["trip"] = CKRecord.Reference(recordID: trip.recordID, action: .deleteSelf)
            stop["zone"] = CKRecord.Reference(recordID: zone, action: .none)
            let note = CKRecord(recordType: "StopNote", recordID: id("trip.note\(number)"))
            note["stop"] = CKRecord.Reference(recordID: stop.recordID, action: .deleteSelf)
            records += [stop, note]
        }
        try await a.save(records, .allKeys)
        _ = try await a.follow()
        _ = try await b.follow()
        _ = try await a.database.deleteRecord(withID: trip.recordID)
        _ = try await a.follow()
        let news = try await b.follow()
        let expected = records.map(\.recordID.recordName).sorted()
        guard news.deletions.sorted() == expected else {
            throw DemoFailure("A deleted a trip of \(expected.count) records, and B heard of \(news.deletions.count) deletions")
        }
        report.deletionsCascaded = expected.count - 1
        try timeline.say("A deleted a trip, and with it went its \(zones.count) stops and their notes: B heard of \(expected.count) deletions")
        try await compare(entries.dropLast())
    }
}
