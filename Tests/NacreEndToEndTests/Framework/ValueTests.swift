import CloudKit
import CoreLocation
import Foundation
import Testing

/// Tests that values come back bit by bit, through framework, wire and store.
struct ValueTests {
    private static let dates = [
        Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: 789_012_345.678_901_2), Date(timeIntervalSince1970: 0.1),
        Date(timeIntervalSinceReferenceDate: -1e9 / 3), Date(timeIntervalSince1970: 4_102_444_799.999_999),
    ]
    private static let doubles = [
        0, -0.0, 0.1, 1.0 / 3, .pi, -1e-300, 1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 9_007_199_254_740_992, 123_456_789.123_456_79,
    ]
    private static let integers: [Int64] = [0, 1, -1, .max, .min, 1 << 53 + 1, -(1 << 53) - 1]
    private static let texts = [
        "", "plain", "\"quoted\" \\ / \u{0} \u{1F} \u{7F}", "e\u{301} é", "👩‍👩‍👧 語 ß \u{2028}", "\u{10FFFF}", String(repeating: "long ", count: 4000),
    ]
    private static let bytes = [Data(), Data([0]), Data(0...255), Data(repeating: 0xff, count: 10_001)]
    private static let places = [
        CLLocation(latitude: 52.520_008_123_456, longitude: 13.404_954_987_654),
        CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: -89.999_999, longitude: 179.999_999), altitude: 8848.86, horizontalAccuracy: 0.1,
            verticalAccuracy: 0.2, course: 359.9, speed: 12.3, timestamp: Date(timeIntervalSinceReferenceDate: 1.0 / 3)),
    ]

    @Test func `dates, numbers, text, data, places, references and lists are the same on the other device`() async throws {
        try await Device.pair { a, b, _ in
            let record = Device.note("values", "all kinds")
            for (index, date) in Self.dates.enumerated() { record["date\(index)"] = date }
            for (index, double) in Self.doubles.enumerated() { record["double\(index)"] = double }
            for (index, integer) in Self.integers.enumerated() { record["integer\(index)"] = integer }
            for (index, text) in Self.texts.enumerated() { record["text\(index)"] = text }
            for (index, data) in Self.bytes.enumerated() { record["data\(index)"] = data }
            for (index, location) in Self.places.enumerated() { record["place\(index)"] = location }
            record["truth"] = true
            record["dates"] = Self.dates
            record["doubles"] = Self.doubles
            record["integers"] = Self.integers
            record["texts"] = Self.texts
            record["datas"] = Self.bytes
            record["places"] = Self.places
            record["link"] = CKRecord.Reference(recordID: Device.recordID("other"), action: .none)
            try await a.database.save(record)
            let seen = try await b.database.record(for: record.recordID)
            try check(seen)
            let followed = try #require(try await b.changes().records[record.recordID])
            try check(followed)
            #expect(Set(seen.allKeys()) == Set(record.allKeys()))
        }
    }

    private func check(_ record: CKRecord) throws {
        for (index, date) in Self.dates.enumerated() { #expect(record["date\(index)"] as? Date == date) }
        for (index, double) in Self.doubles.enumerated() {
            #expect((record["double\(index)"] as? Double)?.bitPattern == double.bitPattern, "\(double)")
        }
        for (index, integer) in Self.integers.enumerated() { #expect(record["integer\(index)"] as? Int64 == integer) }
        for (index, text) in Self.texts.enumerated() {
            // Texts are compared by scalars: canonically equivalent ones are different.
            let seen = record["text\(index)"] as? String
            #expect(seen.map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
        }
        for (index, data) in Self.bytes.enumerated() { #expect(record["data\(index)"] as? Data == data) }
        for (index, location) in Self.places.enumerated() {
            let seen = try #require(record["place\(index)"] as? CLLocation)
            #expect(seen.coordinate.latitude == location.coordinate.latitude && seen.coordinate.longitude == location.coordinate.longitude)
            #expect(seen.altitude == location.altitude && seen.timestamp == location.timestamp)
            #expect(seen.horizontalAccuracy == location.horizontalAccuracy && seen.verticalAccuracy == location.verticalAccuracy)
            #expect(seen.course == location.course && seen.speed == location.speed)
        }
        #expect(record["truth"] as? Bool == true)
        #expect(record["dates"] as? [Date] == Self.dates)
        #expect((record["doubles"] as? [Double])?.map(\.bitPattern) == Self.doubles.map(\.bitPattern))
        #expect(record["integers"] as? [Int64] == Self.integers)
        #expect(record["texts"] as? [String] == Self.texts)
        #expect(record["datas"] as? [Data] == Self.bytes)
        #expect((record["places"] as? [CLLocation])?.map(\.coordinate.latitude) == Self.places.map(\.coordinate.latitude))
        #expect((record["link"] as? CKRecord.Reference)?.recordID == Device.recordID("other"))
    }

    @Test func `an empty list makes no field, and is a value of a field that exists`() async throws {
        try await Device.pair { a, b, _ in
            let record = Device.note("list", "bread")
            record["tags"] = [String]()
            let error = await #expect(throws: CKError.self) { try await a.database.save(record) }
            #expect(error?.code == .invalidArguments)
            #expect(error.map { "\($0)" }?.contains("cannot use an empty list to initialize a new field (field 'tags'") == true)
            record["tags"] = ["rye"]
            try await a.database.save(record)
            record["tags"] = [String]()
            try await a.database.save(record)
            #expect(try await b.database.record(for: record.recordID)["tags"] as? [String] == [])
        }
    }

    @Test func `a field set to nil is gone on the other device, and what no record can hold fails by its key`() async throws {
        try await Device.pair { a, b, _ in
            let record = Device.note("one", "bread")
            record["count"] = 1
            try await a.database.save(record)
            record["count"] = nil
            try await a.database.save(record)
            #expect(try await b.database.record(for: record.recordID).allKeys() == ["text"])

            record["count"] = Double.nan
            let error = await #expect(throws: CKError.self) { try await a.database.save(record) }
            #expect(error?.code == .invalidArguments)
            #expect(error?.localizedDescription.contains("count") == true || "\(String(describing: error))".contains("count"))
        }
    }
}
