import Foundation
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreTelemetry
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage

/// Tests of what the server sums up of its requests, and of how an administrator is shown it.
@Suite struct TelemetryTests {
    private static let series = TelemetrySeries(operation: "records/query", databases: .public, container: "iCloud.a", environment: "production")

    private static func recorder(_ folder: String?, _ clock: TestClock, _ log: LogLines = LogLines()) -> TelemetryRecorder {
        TelemetryRecorder(TelemetryFile(folder: folder), clock: clock.serverClock, logger: log.logger) { .random(in: .min ... .max) }
    }

    private static func add(_ count: Int, to recorder: TelemetryRecorder, by user: String? = nil) {
        for _ in 0..<count {
            recorder.add(series, at: recorder.now, by: user) { sums, _ in
                sums.requests += 1
                sums.latency.record(microseconds: 1000)
            }
        }
    }

    private static func requests(_ recorder: TelemetryRecorder) async throws -> Int64 {
        let now = recorder.now
        return try await recorder.sums(of: TelemetryFilter(container: "iCloud.a"), from: now + -86_400, to: now + 86_400).requests
    }

    @Test func `sums go on in the same slots after a restart, and a killed server loses what it had not written`() async throws {
        let (folder, clock) = (try TemporaryFolder(), TestClock())
        let first = Self.recorder(folder.path, clock)
        await first.open()
        Self.add(3, to: first, by: "_ann")
        await first.close()
        let second = Self.recorder(folder.path, clock)
        await second.open()
        Self.add(4, to: second, by: "_ann")
        await second.flush()
        // No more of this is written than of a process that is killed.
        Self.add(5, to: second)
        clock.advance(-3600)
        let third = Self.recorder(folder.path, clock)
        await third.open()
        Self.add(6, to: third, by: "_ann")
        #expect(try await Self.requests(third) == 13)
        let users = try await third.sums(of: TelemetryFilter(), from: clock.now + -86_400, to: clock.now + 86_400).users
        #expect(users.atLeast == 1, "the same user again is no further one")
        await third.close()
        await second.close()
    }

    @Test func `counts and percentiles are those of a client's own log, over restarts, kills and a clock set back`() async throws {
        let (folder, clock) = (try TemporaryFolder(), TestClock())
        var random = SeededRandom()
        var (log, unwritten) = ([Int64](), [Int64]())
        var recorder = Self.recorder(folder.path, clock)
        await recorder.open()
        for step in 0..<200 {
            let taken = Int64.random(in: 1...2_000_000, using: &random)
            recorder.add(Self.series, at: clock.now) { sums, _ in
                sums.requests += 1
                sums.latency.record(microseconds: taken)
            }
            unwritten.append(taken)
            clock.advance(step == 90 ? -3600 : .random(in: 0...90, using: &random))
            switch Int.random(in: 0..<12, using: &random) {
            case 0, 1:
                await recorder.flush()
                (log, unwritten) = (log + unwritten, [])
                continue
            case 2:
                await recorder.close()
                (log, unwritten) = (log + unwritten, [])
            // A killed process writes nothing more.
            case 3: unwritten = []
            default: continue
            }
            recorder = Self.recorder(folder.path, clock)
            await recorder.open()
        }
        log += unwritten
        let sums = try await recorder.sums(of: TelemetryFilter(), from: clock.now + -2 * 86_400, to: clock.now + 2 * 86_400)
        #expect(sums.requests == Int64(log.count) && !log.isEmpty, "seed \(HistorySeed.value)")
        log.sort()
        for part in [0.5, 0.95, 0.99] {
            let exact = Double(log[max(Int((part * Double(log.count)).rounded(.up)), 1) - 1])
            let told = sums.latency.percentile(part) ?? -1
            #expect(abs(told - exact) <= exact * LatencyHistogram.relativeError, "\(part): \(told) for \(exact), seed \(HistorySeed.value)")
        }
        await recorder.close()
    }

    @Test func `a disk that fails is told once, loses nothing, and is told when it is well again`() async throws {
        let (folder, clock, log) = (try TemporaryFolder(), TestClock(), LogLines())
        let place = folder.path + "/later"
        let recorder = Self.recorder(place, clock, log)
        await recorder.open()
        for _ in 0..<3 {
            Self.add(2, to: recorder)
            await recorder.flush()
            clock.advance(10)
        }
        #expect(log.objects("Telemetry cannot be written: its sums stay in memory until it can be").count == 1)
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        await recorder.flush()
        #expect(log.objects("Telemetry can be written again").count == 1)
        #expect(try await Self.requests(recorder) == 6)
        await recorder.close()
    }

    @Test func `a damaged file is replaced, and no user's name is in a whole one`() async throws {
        let (folder, clock) = (try TemporaryFolder(), TestClock())
        let path = folder.path + "/" + TelemetryFile.name
        try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: path))
        let recorder = Self.recorder(folder.path, clock)
        await recorder.open()
        Self.add(1, to: recorder, by: "_annwithalongname")
        #expect(try await Self.requests(recorder) == 1)
        await recorder.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(bytes.range(of: Data("iCloud.a".utf8)) != nil && bytes.range(of: Data("annwith".utf8)) == nil)
    }

    @Test func `an administrator sees the counts that a client's own log has`() async throws {
        let server = try await AdministeredServer()
        let path = "/database/1/\(TestServer.container)/development"
        let key = "ckAPIToken=\(server.server.names["api"] ?? "")"
        var counts: [String: Int] = [:]
        for number in 0..<12 {
            let target =
                switch number % 4 {
                case 0: "\(path)/public/users/caller?\(key)&ckWebAuthToken=\(server.server.names["ada"] ?? "")"
                case 1: "\(path)/public/users/caller?\(key)"
                case 2: "\(path)/private/zones/list?\(key)&ckWebAuthToken=\(server.server.names["bob"] ?? "")"
                default: "/database/1/iCloud.made.up\(number)/development/public/users/caller?\(key)"
                }
            let answer = await server.server.respond(Question(method: "GET", target: target))
            counts["\(number % 4) \(answer.status)", default: 0] += 1
        }
        let answer = await server.administrate("GET", "/admin/1/telemetry?last=hour")
        let told = try JSONDecoder().decode(AdminMessages.Telemetry.self, from: Data(answer.body))
        let ofPublic = told.lines.filter { $0.operation == "users/caller" && $0.container == TestServer.container }
        #expect(ofPublic.reduce(0) { $0 + $1.requests } == 6)
        #expect(
            Int(ofPublic.reduce(0) { $0 + $1.errors }) == counts.filter { $0.key.hasPrefix("1 4") || $0.key.hasPrefix("0 4") }.values.reduce(0, +))
        #expect(ofPublic.allSatisfy { $0.users == "fewer than 5" && $0.p50 ?? 0 > 0 && $0.p50 ?? 0 <= $0.p99 ?? 0 })
        #expect(!answer.text.contains("made.up"), "names that a client makes up are no series")
        #expect(told.hasHidden && !told.lines.contains { $0.database == "private+shared" }, "one user's requests are not shown")
        #expect(told.bars.reduce(0) { $0 + $1.requests } == told.total.requests)
        // Of what is hidden nothing is told, not even that it is there.
        let (hidden, none) = ("/admin/1/telemetry?last=hour&database=private&operation=zones/list", "/admin/1/telemetry?last=hour&operation=nothing")
        #expect(await server.administrate("GET", hidden).text == server.administrate("GET", none).text)
        let raw = try await server.server.recorder.sums(
            of: TelemetryFilter(databases: .personal), from: server.server.clock.now + -3600, to: server.server.clock.now + 3600)
        #expect(raw.requests == 3)
        let byCode = await server.administrate("GET", "/admin/1/telemetry?by=code&compare=previous")
        #expect(byCode.status == 200 && byCode.json?["changes"] != nil)
        for query in ["last=eon", "from=x", "to=1", "from=5&to=5", "from=1&last=day", "database=registry", "by=user", "environment=x", "compare=1"] {
            #expect(await server.administrate("GET", "/admin/1/telemetry?" + query).status == 400, "\(query)")
        }
    }

    @Test func `a comparison names the client and the operation that make most of the difference`() {
        func totals(_ counts: [(operation: String, client: String, requests: Int64, errors: Int64)]) -> TelemetryTotals {
            var totals = TelemetryTotals()
            for count in counts {
                var sums = TelemetrySums()
                (sums.requests, sums.clientErrors, sums.microseconds) = (count.requests, count.errors, count.requests * 1000)
                sums.add(
                    TelemetrySums.PartSums(requests: count.requests, errors: count.errors, microseconds: count.requests * 1000),
                    to: TelemetryPart(.client, count.client))
                totals.add(TelemetrySeries(operation: count.operation, databases: .public), sums)
            }
            return totals
        }
        let before = totals([("records/query", "1.0", 100, 1), ("records/modify", "1.0", 100, 1)])
        let after = totals([("records/query", "1.0", 100, 1), ("records/query", "1.1", 200, 60), ("records/modify", "1.0", 105, 1)])
        let changes = TelemetryChange.between(before, after)
        #expect(changes.map(\.figure) == [.requests, .errorRate])
        #expect(changes[0].before == 200 && changes[0].after == 405)
        #expect(changes[0].causes.map(\.name) == ["1.1", "records/query"])
        #expect(changes[0].causes.allSatisfy { $0.share > 0.9 })
        #expect(TelemetryChange.between(after, after).isEmpty && TelemetryChange.between(TelemetryTotals(), TelemetryTotals()).isEmpty)
    }
}
