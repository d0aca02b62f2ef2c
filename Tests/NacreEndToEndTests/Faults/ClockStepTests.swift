import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of the real server under a system clock that jumps by a day, either way, while it runs.
struct ClockStepTests {
    /// The library of Debian's `faketime`. Loaded before the C library it provides the clock, by a file that may
    /// change. ThreadSanitizer loads itself there too, and a server with both does not start.
    private static var library: String? {
        #if THREAD_SANITIZER
            return nil
        #else
            return ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/faketime/libfaketimeMT.so.1" }
                .first { FileManager.default.isReadableFile(atPath: $0) }
        #endif
    }

    private struct Changes: Decodable {
        struct Zone: Decodable {
            var syncToken: String
            var moreComing: Bool
            var records: [Saved]
        }

        var zones: [Zone]
    }

    private struct Saved: Decodable {
        struct Stamp: Decodable { var timestamp: Int64 }

        var recordName: String
        var recordChangeTag: String?
        var modified: Stamp?
    }

    private struct Answer: Decodable { var records: [Saved] }

    @Test(.enabled(if: mayRun(library != nil), "needs libfaketime, Debian's package faketime, and a build without ThreadSanitizer"))
    func `whatever the system clock does, no change is lost, tags are unique, and modification times rise`() async throws {
        let folder = try TemporaryFolder()
        let clock = folder.path + "/clock"
        try Self.set(clock, "+0")
        let environment = [
            "LD_PRELOAD": Self.library ?? "", "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
        ]
        try await RunningServer.with(environment: environment) { server in
            let cloud = try await FaultedCloud(server)
            var tags: Set<String> = []
            var modified: [String: Int64] = [:]
            var latest: [String: String] = [:]
            var seen: [String: String] = [:]
            var token: String?
            var times: [Int64] = []
            for (step, offset) in ["+0", "+1d", "-1d", "+0", "-1d", "+1d", "+0"].enumerated() {
                try Self.set(clock, offset)
                for name in ["a", "b", "new-\(step)"] {
                    let saved = try await Self.save(name, "\(step)", cloud)
                    let tag = try #require(saved.recordChangeTag)
                    let time = try #require(saved.modified).timestamp
                    #expect(tags.insert(tag).inserted, "step \(step)")
                    if let last = modified[name] { #expect(time > last, "step \(step)") }
                    modified[name] = time
                    latest[name] = tag
                    if name.hasPrefix("new") { times.append(time) }
                }
                try await Self.follow(cloud, &token, &seen)
                #expect(seen == latest, "step \(step)")
            }
            // The server did see the clock jump: new records have its time.
            #expect(times[1] - times[0] > 80_000_000 && times[2] - times[1] < -160_000_000)
            let pid = try server.process.pid
            #expect(try await server.stop() == 0)
            for left in ["faketime_shm", "sem.faketime_sem"] { try? FileManager.default.removeItem(atPath: "/dev/shm/\(left)_\(pid)") }
        }
    }

    /// Writes the offset atomically, so that it is never read half.
    private static func set(_ path: String, _ offset: String) throws {
        try Data((offset + "\n").utf8).write(to: URL(filePath: path), options: .atomic)
    }

    private static func save(_ name: String, _ text: String, _ cloud: FaultedCloud) async throws -> Saved {
        let record = RawRecord(recordName: name, recordType: "Note", fields: ["text": RawField(value: .text(text))])
        let message = RawModify(
            operations: [RawOperation(operationType: "forceUpdate", record: record)], zoneID: RawZoneID(zoneName: FaultedCloud.zone))
        let answer: Answer = try await cloud.client.post("records/modify", message)
        return answer.records[0]
    }

    private static func follow(_ cloud: FaultedCloud, _ token: inout String?, _ seen: inout [String: String]) async throws {
        var isMore = true
        while isMore {
            let asked = RawZoneChanges(zoneID: RawZoneID(zoneName: FaultedCloud.zone), syncToken: token)
            let answer: Changes = try await cloud.client.post("changes/zone", RawZones(zones: [asked]))
            for record in answer.zones[0].records { seen[record.recordName] = record.recordChangeTag }
            token = answer.zones[0].syncToken
            isMore = answer.zones[0].moreComing
        }
    }
}
