import CloudKit
import CoreLocation
import Foundation
import FoundationNetworking
import NacreCloudServer
import Testing

/// Tests of queries of the framework over a real server: each predicate that CloudKit documents, orders, pages and
/// refusals.
@Suite(.timeLimit(.minutes(5)))
struct QueryTests {
    private static let epoch = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456)
    private static let countryID = Device.recordID("germany")

    private struct City {
        var name: String
        var people: Int?
        var area: Double
        var tags: [String]
        var text: String
        var latitude: Double
        var longitude: Double
    }

    private static let cities = [
        City(name: "Aachen", people: 250, area: 160.5, tags: ["spa", "dom"], text: "Springs, a Cathédral", latitude: 50.776, longitude: 6.084),
        City(name: "Berlin", people: 3700, area: 891, tags: ["capital"], text: "Spree, museums after dark", latitude: 52.52, longitude: 13.405),
        City(name: "Bonn", people: 330, area: 141, tags: ["capital", "old"], text: "Beethoven was born here", latitude: 50.735, longitude: 7.102),
        City(name: "Cologne", people: 1080, area: 405, tags: ["dom", "old"], text: "A cathedral on the Rhine", latitude: 50.938, longitude: 6.957),
        City(name: "Dresden", people: nil, area: 328, tags: [], text: "On the Elbe; museums", latitude: 51.05, longitude: 13.738),
    ]

    private static func record(_ city: City) -> CKRecord {
        let record = CKRecord(recordType: "City", recordID: Device.recordID(city.name.lowercased()))
        record["name"] = city.name
        record["people"] = city.people
        record["area"] = city.area
        record["tags"] = city.tags
        record["text"] = city.text
        record["at"] = CLLocation(latitude: city.latitude, longitude: city.longitude)
        record["seen"] = epoch.addingTimeInterval(city.area)
        record["code"] = Data(city.name.utf8)
        if city.name != "Dresden" { record["country"] = CKRecord.Reference(recordID: countryID, action: .none) }
        return record
    }

    private static func withCities(_ body: (_ a: Device, _ b: Device, _ cloud: NewCloud) async throws -> Void) async throws {
        try await Device.pair { a, b, cloud in
            _ = try await a.database.modifyRecords(saving: cities.map(record), deleting: [])
            try await body(a, b, cloud)
        }
    }

    /// Returns the names that a query finds, as letters: "A B" for Aachen and Berlin. Sorted unless the query sorts.
    private static func found(_ predicate: NSPredicate, _ device: Device, sort: [NSSortDescriptor]? = nil) async throws -> String {
        let query = CKQuery(recordType: "City", predicate: predicate)
        query.sortDescriptors = sort
        let answer = try await device.database.records(matching: query, inZoneWith: Device.zoneID)
        #expect(answer.queryCursor == nil)
        let names = try answer.matchResults.map { try $0.1.get()["name"] as? String ?? "" }
        return (sort == nil ? names.sorted() : names).map { $0.prefix($0.hasPrefix("B") ? 2 : 1) }.joined(separator: " ")
    }

    @Test func `each predicate that CloudKit documents finds what it says`() async throws {
        try await Self.withCities { _, b, _ in
            let here = CLLocation(latitude: 50.9, longitude: 6.9)
            let berlin = Device.recordID("berlin")
            let rows: [(NSPredicate, String)] = [
                (NSPredicate(format: "name = %@", "Bonn"), "Bo"), (NSPredicate(format: "name == 'bonn'"), ""),
                (NSPredicate(format: "name != %@", "Bonn"), "A Be C D"), (NSPredicate(format: "people > %d", 330), "Be C"),
                (NSPredicate(format: "people >= 330 AND people < 3700"), "Bo C"), (NSPredicate(format: "people <= %ld", 330), "A Bo"),
                (NSPredicate(format: "people != 330"), "A Be C"), (NSPredicate(format: "NOT people > 330"), "A Bo"),
                (NSPredicate(format: "people > 329.5"), "Be Bo C"), (NSPredicate(format: "area = 405"), "C"),
                (NSPredicate(format: "area BETWEEN {141, 328}"), "A Bo D"), (NSPredicate(format: "name IN {'Bonn', 'Berlin', 'Rome'}"), "Be Bo"),
                (NSPredicate(format: "people IN %@", [250, 1080]), "A C"), (NSPredicate(format: "NOT (name IN %@)", ["Bonn", "Berlin"]), "A C D"),
                (NSPredicate(format: "name IN {}"), ""), (NSPredicate(format: "tags CONTAINS 'dom'"), "A C"),
                (NSPredicate(format: "%@ IN tags", "capital"), "Be Bo"), (NSPredicate(format: "ANY tags = %@", "old"), "Bo C"),
                (NSPredicate(format: "ANY tags IN %@", ["spa", "old"]), "A Bo C"), (NSPredicate(format: "NOT tags CONTAINS 'dom'"), "Be Bo D"),
                (NSPredicate(format: "ANY tags BEGINSWITH 'cap'"), "Be Bo"), (NSPredicate(format: "name BEGINSWITH 'B'"), "Be Bo"),
                (NSPredicate(format: "name BEGINSWITH %@", "b"), ""), (NSPredicate(format: "NOT name BEGINSWITH 'B'"), "A C D"),
                (NSPredicate(format: "seen = %@", Self.epoch.addingTimeInterval(405)), "C"),
                (NSPredicate(format: "seen > %@", Self.epoch.addingTimeInterval(328) as NSDate), "Be C"),
                (NSPredicate(format: "seen < now()"), "A Be Bo C D"), (NSPredicate(format: "code = %@", Data("Bonn".utf8)), "Bo"),
                (NSPredicate(format: "country = %@", Self.countryID), "A Be Bo C"),
                (NSPredicate(format: "country = %@", CKRecord.Reference(recordID: Self.countryID, action: .deleteSelf)), "A Be Bo C"),
                (NSPredicate(format: "country IN %@", [berlin]), ""), (NSPredicate(format: "self CONTAINS 'cathedral'"), "A C"),
                (NSPredicate(format: "self CONTAINS %@", "RHINE cathedral"), "C"), (NSPredicate(format: "self CONTAINS 'museums bonn'"), ""),
                (NSPredicate(format: "self CONTAINS 'museums' AND name BEGINSWITH 'D'"), "D"),
                (NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "beethoven"), "Bo"),
                (NSPredicate(format: "ANY tokenize(%@, 'Cdl') IN allTokens", "beethoven rhine"), "Bo C"),
                (NSPredicate(format: "distanceToLocation:fromLocation:(at, %@) < %f", here, 30_000.0), "Bo C"),
                (NSPredicate(format: "distanceToLocation:fromLocation:(at, %@) < 100000 AND tags CONTAINS 'dom'", here), "A C"),
                (NSPredicate(value: false), ""), (NSPredicate(format: "people > 0 AND FALSEPREDICATE"), ""),
                (
                    NSCompoundPredicate(andPredicateWithSubpredicates: [
                        NSPredicate(format: "people > 300"), NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(format: "name = 'Bonn'")),
                    ]), "Be C"
                ),
            ]
            for (predicate, expected) in rows {
                let found = try await Self.found(predicate, b)
                #expect(found == expected, "\(predicate)")
            }
        }
    }

    @Test func `answers come in the order of the descriptors, places by distance`() async throws {
        try await Self.withCities { _, b, _ in
            let any = NSPredicate(format: "area > 0")
            func order(_ sort: NSSortDescriptor...) async throws -> String { try await Self.found(any, b, sort: sort) }
            #expect(try await order(NSSortDescriptor(key: "name", ascending: false)) == "D C Bo Be A")
            #expect(try await order(NSSortDescriptor(key: "people", ascending: true)) == "D A Bo C Be")
            #expect(try await order(NSSortDescriptor(key: "people", ascending: false)) == "Be C Bo A D")
            #expect(try await order(NSSortDescriptor(key: "seen", ascending: true)) == "Bo A D C Be")
            let here = CLLocation(latitude: 52.5, longitude: 13.4)
            let near = CKLocationSortDescriptor(key: "at", relativeLocation: here)
            let expected = Self.cities.sorted {
                here.distance(from: CLLocation(latitude: $0.latitude, longitude: $0.longitude))
                    < here.distance(from: CLLocation(latitude: $1.latitude, longitude: $1.longitude))
            }
            let query = CKQuery(recordType: "City", predicate: any)
            query.sortDescriptors = [near]
            let names = try await b.database.perform(query, inZoneWith: Device.zoneID).map { $0["name"] as? String }
            #expect(names == expected.map(\.name))
        }
    }

    @Test func `the server counts distances as CLLocation does`() async throws {
        try await Self.withCities { _, b, _ in
            let here = CLLocation(latitude: -33.9, longitude: 151.2)
            for city in Self.cities {
                let distance = here.distance(from: CLLocation(latitude: city.latitude, longitude: city.longitude))
                let inside = NSPredicate(format: "distanceToLocation:fromLocation:(at, %@) < %f AND name = %@", here, distance + 1e-3, city.name)
                let outside = NSPredicate(format: "distanceToLocation:fromLocation:(at, %@) < %f AND name = %@", here, distance - 1e-3, city.name)
                let near = try await Self.found(inside, b)
                let far = try await Self.found(outside, b)
                #expect(!near.isEmpty && far.isEmpty, "\(city.name)")
            }
        }
    }

    @Test func `a cursor walks every page, from an archive too, and records come once while others change`() async throws {
        try await Device.pair { a, b, _ in
            let notes = (0..<120).map { number in
                let note = Device.note("note\(number)", "number \(number)")
                note["place"] = number % 7
                return note
            }
            _ = try await a.database.modifyRecords(saving: notes, deleting: [])
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text BEGINSWITH 'number'"))
            query.sortDescriptors = [NSSortDescriptor(key: "place", ascending: true)]
            var (page, cursor) = try await b.database.records(matching: query, inZoneWith: Device.zoneID, desiredKeys: ["place"], resultsLimit: 50)
            var seen: [CKRecord] = []
            var sizes: [Int] = []
            while true {
                seen += try page.map { try $0.1.get() }
                sizes.append(page.count)
                guard let next = cursor else { break }
                let late = Device.note("late\(sizes.count)", "number")
                late["place"] = -1
                try await a.database.save(late)
                let data = try NSKeyedArchiver.archivedData(withRootObject: next, requiringSecureCoding: true)
                let kept = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryOperation.Cursor.self, from: data))
                (page, cursor) = try await b.database.records(continuingMatchFrom: kept, desiredKeys: ["place"], resultsLimit: 50)
            }
            #expect(sizes == [50, 50, 20])
            #expect(Set(seen.map(\.recordID)) == Set(notes.map(\.recordID)))
            #expect(seen.compactMap { $0["place"] as? Int } == notes.compactMap { $0["place"] as? Int }.sorted())
            #expect(seen.allSatisfy { $0.allKeys() == ["place"] })
        }
    }

    @Test func `without a zone a query looks into all of them, and an answer says where each record is`() async throws {
        try await Device.pair { a, b, _ in
            let other = CKRecordZone.ID(zoneName: "Other")
            try await a.database.save(CKRecordZone(zoneID: other))
            for zoneID in [Device.zoneID, other, .default] {
                let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "one", zoneID: zoneID))
                record["text"] = "in \(zoneID.zoneName)"
                try await a.database.save(record)
            }
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text BEGINSWITH 'in'"))
            query.sortDescriptors = [NSSortDescriptor(key: "text", ascending: true)]
            let all = try await b.database.records(matching: query, resultsLimit: 2)
            #expect(all.matchResults.map(\.0.zoneID) == [Device.zoneID, other])
            let rest = try await b.database.records(continuingMatchFrom: try #require(all.queryCursor))
            #expect(rest.matchResults.map(\.0.zoneID) == [.default] && rest.queryCursor == nil)
            let one = try await b.database.records(matching: query, inZoneWith: other)
            #expect(one.matchResults.map(\.0) == [CKRecord.ID(recordName: "one", zoneID: other)])
            // Found records can be edited and saved in their zone.
            let found = try #require(try one.matchResults.first?.1.get())
            found["text"] = "in it again"
            try await b.database.save(found)
        }
    }

    @Test func `what the server refuses names the field, and a type without records is unknown`() async throws {
        try await Self.withCities { _, b, _ in
            func refusal(_ predicate: NSPredicate, type: String = "City", sort: String? = nil) async throws -> CKError {
                let query = CKQuery(recordType: type, predicate: predicate)
                query.sortDescriptors = sort.map { [NSSortDescriptor(key: $0, ascending: true)] }
                let error = await #expect(throws: CKError.self) {
                    _ = try await b.database.records(matching: query, inZoneWith: Device.zoneID)
                }
                return try #require(error)
            }
            let all = try await refusal(NSPredicate(value: true))
            #expect(all.code == .invalidArguments && all.localizedDescription == "Field 'recordName' is not marked queryable")
            let remedy = all.userInfo["CKErrorRemedy"] as? String
            #expect(remedy?.contains("nacre schema index --container iCloud.") == true && remedy?.hasSuffix(" City ___recordID --queryable") == true)
            let unknown = try await refusal(NSPredicate(format: "height = 1"))
            #expect(unknown.code == .invalidArguments && unknown.localizedDescription == "Unknown field 'height'")
            let typed = try await refusal(NSPredicate(format: "name = 5"))
            #expect(typed.code == .invalidArguments && typed.localizedDescription.contains("'name'"))
            let substring = try await refusal(NSPredicate(format: "name CONTAINS 'o'"))
            #expect(substring.code == .invalidArguments && substring.localizedDescription.contains("LIST_CONTAINS"))
            let sorted = try await refusal(NSPredicate(format: "area > 0"), sort: "tags")
            #expect(sorted.code == .invalidArguments && sorted.localizedDescription == "Field 'tags' is not marked sortable")
            let village = try await refusal(NSPredicate(format: "a = 1"), type: "Village")
            #expect(village.code == .unknownItem && village.localizedDescription == "Did not find record type: Village")
            let either = try await refusal(NSPredicate(format: "name = 'A' OR name = 'B'"))
            #expect(either.code == .invalidArguments && either.localizedDescription.contains("OR is not supported"))
        }
    }

    @Test func `system fields are queried and sorted once they are indexed`() async throws {
        try await Self.withCities { a, b, cloud in
            for field in ["recordName", "createdTimestamp", "createdUserRecordName"] { try await index(field, cloud) }
            let first = try await a.database.record(for: Device.recordID("bonn"))
            let all = NSPredicate(value: true)
            #expect(try await Self.found(all, b) == "A Be Bo C D")
            #expect(try await Self.found(NSPredicate(format: "recordID = %@", first.recordID), b) == "Bo")
            #expect(try await Self.found(NSPredicate(format: "recordID IN %@", [first, Device.recordID("aachen")]), b) == "A Bo")
            let created = try #require(first.creationDate)
            #expect(try await Self.found(NSPredicate(format: "creationDate = %@ AND name = 'Bonn'", created), b) == "Bo")
            #expect(try await Self.found(NSPredicate(format: "creationDate > %@", created.addingTimeInterval(3600)), b) == "")
            // Either name means the user.
            for id in [CKRecord.ID(recordName: CKCurrentUserDefaultName), try await b.container.userRecordID()] {
                #expect(try await Self.found(NSPredicate(format: "creatorUserRecordID = %@", id), b) == "A Be Bo C D")
                let reference = CKRecord.Reference(recordID: id, action: .none)
                #expect(try await Self.found(NSPredicate(format: "creatorUserRecordID = %@", reference), b) == "A Be Bo C D")
            }
            #expect(try await Self.found(NSPredicate(format: "creatorUserRecordID = %@", CKRecord.ID(recordName: "_x")), b) == "")
        }
    }

    /// Makes a system field of cities queryable, as an administrator does, and waits until it is.
    private func index(_ field: String, _ cloud: NewCloud) async throws {
        let admin = try cloud.server.admin
        var request = URLRequest(url: try WebServicesClient.url("\(admin.url)/admin/1/schema/indexes"))
        request.setValue("Bearer \(admin.token)", forHTTPHeaderField: "Authorization")
        let asked = AdminMessages.NewIndexes(
            container: cloud.container, recordType: "City", field: field, options: ["QUERYABLE"], fieldType: nil)
        let answer = try await WebServicesClient.send(request, try WebServicesClient.bytes(asked), over: .shared)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    }
}
