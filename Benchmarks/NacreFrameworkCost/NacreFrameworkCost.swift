import CloudKit
import Foundation

/// Measures what an app spends on each record that it saves or fetches. Prints one JSON object.
///
///     NacreFrameworkCost save|fetch|changes|engine-save|engine-fetch|sync|bytes|wait|upload|download ZONE COUNT
///     NacreFrameworkCost save-plain|save-sealed|fetch-plain|fetch-sealed|files-up|files-down ZONE COUNT [PER]
///
/// `save` saves COUNT new records 400 at a time. `fetch` fetches all changes of the zone, 200 a page, and keeps none.
/// The server and the account come from the environment, as for any app. `changes` fetches the same with one
/// operation; `engine-save` and `engine-fetch` do what `save` and `changes` do, with a `CKSyncEngine` without state.
/// `sync` fetches as an app does that follows a zone (one operation), waits for a line, and fetches later changes.
/// `bytes` gets the pages of `fetch` with libcurl alone, reads only their tokens, and prints the number of bytes as
/// `records`. `wait` has COUNT requests at once wait for changes, and prints their cost. `upload` and `download` move
/// one file of COUNT bytes, and print the memory above rest as `growth_megabytes`. `save-plain` and `save-sealed` save
/// COUNT records at once as many as PER says, with the same values plain or encrypted. `files-up` and `files-down` move
/// COUNT files of 10 MB, one after another; in a zone with keys they are sealed.
@main
struct NacreFrameworkCost {
    private static let recordsPerSave = 400
    private static let recordsPerPage = 200

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard (4...5).contains(arguments.count), let count = Int(arguments[3]) else { throw Misuse() }
        let database = CKContainer.default().privateCloudDatabase
        let zone = CKRecordZone.ID(zoneName: arguments[2], ownerName: CKCurrentUserDefaultName)
        if arguments[1] == "wait" { return try await Waiting().wait(count, seconds: 5, usage: usage) }
        if ["upload", "download"].contains(arguments[1]) {
            let files = Files(zone, of: database)
            let growth = try await arguments[1] == "upload" ? files.upload(count) : files.download(count)
            return print(#"{"growth_megabytes":\#(growth)}"#)
        }
        let start = usage()
        let clock = ContinuousClock()
        let began = clock.now
        let records =
            switch arguments[1] {
            case "save": try await save(count, into: zone, of: database)
            case "fetch": try await fetch(zone, of: database)
            case "changes": try await Sync(zone: zone, since: nil).run(in: database).records
            case "engine-save": try await EngineApp(database).save(count, into: zone)
            case "engine-fetch": try await EngineApp(database).fetch(zone)
            case "bytes": try await Pages().read(arguments[2])
            case "sync": try await sync(zone, of: database)
            case "save-plain", "save-sealed", "fetch-plain", "fetch-sealed", "files-up", "files-down":
                try await Sealing(zone, of: database).run(arguments[1], count, per: arguments.last.flatMap { Int($0) } ?? recordsPerPage)
            default: throw Misuse()
            }
        let seconds = began.duration(to: clock.now) / .seconds(1)
        print(#"{"records":\#(records),"seconds":\#(seconds),"cpu_seconds":\#(usage() - start)}"#)
    }

    private struct Misuse: Error {}
    /// A record that was not saved.
    private struct Unsaved: Error {
        var error: any Error
    }

    private static func save(_ count: Int, into zone: CKRecordZone.ID, of database: CKDatabase) async throws -> Int {
        let prefix = UUID().uuidString
        var saved = 0
        while saved < count {
            let records = (saved..<min(saved + recordsPerSave, count)).map { record("\(prefix)-\($0)", in: zone) }
            let results = try await database.modifyRecords(saving: records, deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
            for (_, result) in results.saveResults {
                if case .failure(let error) = result { throw Unsaved(error: error) }
            }
            saved += results.saveResults.count
        }
        return saved
    }

    private static func fetch(_ zone: CKRecordZone.ID, of database: CKDatabase) async throws -> Int {
        var token: CKServerChangeToken?
        var fetched = 0
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zone, since: token, desiredKeys: nil, resultsLimit: recordsPerPage)
            for (_, result) in page.modificationResultsByID {
                // One value of each record is read, as by an app.
                if try result.get().record["title"] as? String != nil { fetched += 1 }
            }
            token = page.changeToken
            if !page.moreComing { return fetched }
        }
    }

    /// Fetches twice, and prints a line for the first sync.
    private static func sync(_ zone: CKRecordZone.ID, of database: CKDatabase) async throws -> Int {
        let clock = ContinuousClock()
        let began = clock.now
        let first = try await Sync(zone: zone, since: nil).run(in: database)
        print(#"{"records":\#(first.records),"seconds":\#(began.duration(to: clock.now) / .seconds(1))}"#)
        fflush(nil)
        _ = readLine()
        let again = clock.now
        let second = try await Sync(zone: zone, since: first.token).run(in: database)
        print(#"{"records":\#(second.records),"seconds":\#(again.duration(to: clock.now) / .seconds(1))}"#)
        return first.records + second.records
    }

    static func record(_ name: String, in zone: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["title"] = "The quick brown fox jumps over the lazy dog"
        record["body"] = String(repeating: "lorem ipsum ", count: 20)
        record["count"] = 42
        record["price"] = 3.25
        record["when"] = Date(timeIntervalSince1970: 1_662_388_216.238)
        record["tags"] = ["a", "b"]
        record["done"] = true
        record["link"] = "https://example.com/notes"
        return record
    }

    /// User and system time of this process so far, in seconds.
    private static func usage() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
