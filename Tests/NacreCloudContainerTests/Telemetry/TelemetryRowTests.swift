import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the tiers of telemetry, and of the rule that hides figures of few users.
@Suite struct TelemetryRowTests {
    private static let personal = TelemetrySeries(operation: "records/modify", databases: .personal, container: "iCloud.a", environment: "production")
    private static let ofPublic = TelemetrySeries(operation: "records/query", databases: .public, container: "iCloud.a", environment: "production")
    /// Noon of a day.
    private static let noon: Int64 = 20_417 * 86_400_000 + 43_200_000

    private func run<Value: Sendable>(_ body: @escaping @Sendable (any TelemetryTable) throws -> Value) async throws -> Value {
        let file = TelemetryFile(folder: nil)
        let value = try await file.transaction(body, ended: { _ in })
        await file.close()
        return value
    }

    private static func sums(_ users: [Int], salt: Int64 = 1) -> TelemetrySums {
        var sums = TelemetrySums()
        sums.requests = Int64(users.count)
        for user in users {
            sums.users.insert(UInt64(user), salt: salt)
            sums.latency.record(microseconds: Int64(user))
            let part = TelemetrySums.PartSums(requests: 1, users: FewUsers(UInt64(user), salt: salt))
            sums.add(part, to: TelemetryPart(.client, client(of: user)))
        }
        return sums
    }

    /// The client of a user: one for most, and one that few have.
    private static func client(of user: Int) -> String { user % 13 == 12 ? "rare" : user < 50 ? "common" : "new" }

    private static func key(_ time: Int64, _ series: TelemetrySeries, _ tier: TelemetryTier = .tenSeconds) -> TelemetryKey {
        TelemetryKey(tier, tier.slot(milliseconds: time), series.text)
    }

    @Test(arguments: [(nil, .shown), (0, .hidden), (1, .hidden), (4, .hidden), (5, .shown), (500, .shown)] as [(Int?, TelemetryEntry.State)])
    func `a row is shown if what no shown finer row covers is nothing, or of five users`(uncovered: Int?, state: TelemetryEntry.State) {
        #expect(TelemetryRow.verdict(uncovered: uncovered) == state)
    }

    /// Users of a private database in ten-second slots of one minute, with the states of the slots and of the minute.
    private static let minutes: [(slots: [[Int]], states: [TelemetryEntry.State], minute: TelemetryEntry.State)] = [
        ([[1, 2, 3, 4, 5]], [.shown], .shown),
        ([[1, 2, 3, 4]], [.hidden], .hidden),
        // Together they are five.
        ([[1, 2], [3, 4, 5]], [.hidden, .hidden], .shown),
        // The same users again are no further ones.
        ([[1, 2, 3], [1, 2, 3, 4]], [.hidden, .hidden], .hidden),
        // The minute less the first slot would be the second.
        ([[1, 2, 3, 4, 5], [6]], [.shown, .hidden], .hidden),
        ([[1, 2, 3, 4, 5], [6, 7], [8, 9, 10]], [.shown, .hidden, .hidden], .shown),
        ([[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]], [.shown, .shown], .shown),
    ]

    @Test(arguments: minutes.indices) func `a minute is hidden if it less its shown slots would be of few users`(index: Int) async throws {
        let (slots, states, minute) = Self.minutes[index]
        let found = try await run { table in
            for (number, users) in slots.enumerated() {
                let key = Self.key(Self.noon + Int64(number) * 10_000, Self.personal)
                try table.add(Self.sums(users), at: key, of: Self.personal)
                #expect(try table.row(at: key)?.state == .open)
            }
            try table.decide(at: Timestamp(millisecondsSince1970: Self.noon + 60_000))
            let ofSlots = try slots.indices.map { try table.row(at: Self.key(Self.noon + Int64($0) * 10_000, Self.personal))?.state }
            return (ofSlots, try table.row(at: Self.key(Self.noon, Self.personal, .minutes))?.state)
        }
        #expect(found.0 == states && found.1 == minute)
    }

    @Test(arguments: [([1, 2, 3, 4], false), ([1, 2, 3, 4, 5], true)] as [([Int], Bool)])
    func `stored bytes of private databases are shown for a day on which five users changed some, for the day before differs`(
        changing: [Int], isShown: Bool
    ) async throws {
        let storage = TelemetrySeries.storage(.personal, of: Self.personal.container, .production)
        let told = try await run { table in
            var stored = Self.sums(Array(1...9))
            stored.stored = TelemetrySums.Stored(milliseconds: Self.noon, bytes: 7000)
            try table.add(stored, at: Self.key(Self.noon, storage, .days), of: storage)
            try table.add(Self.sums(changing), at: Self.key(Self.noon, Self.personal), of: Self.personal)
            try table.decide(at: Timestamp(millisecondsSince1970: Self.noon + 86_400_000))
            var told: Int64?
            let day = Self.noon - 43_200_000
            try table.eachRow(in: [day..<day + 86_400_000]) { if $1 == storage { told = $2.stored?.bytes } }
            return told
        }
        #expect(told == (isShown ? 7000 : nil))
    }

    @Test func `sums that come late hide a row that was shown`() async throws {
        let states = try await run { table in
            let key = Self.key(Self.noon, Self.personal)
            try table.add(Self.sums([1, 2, 3, 4, 5]), at: key, of: Self.personal)
            try table.decide(at: Timestamp(millisecondsSince1970: Self.noon + 60_000))
            try table.add(Self.sums([6]), at: key, of: Self.personal)
            try table.decide(at: Timestamp(millisecondsSince1970: Self.noon + 3_600_000))
            return try TelemetryTier.allCases.map { try table.row(at: key.within($0))?.state }
        }
        #expect(states == [.hidden, .hidden, .hidden, .open])
    }

    /// Users of a private database in ten-second slots of one minute, with the requests by client of the minute.
    private static let clients: [(slots: [[Int]], told: [String: Int64])] = [
        ([[1, 2, 3, 4, 5]], ["common": 5]),
        ([[1, 2, 3, 4, 12]], ["other": 5]),
        ([[1, 2, 3, 4, 5, 12]], ["common": 5, "other": 1]),
        // Four in the first slot, where the client is not told, and a fifth in the second.
        ([[1, 2, 3, 4, 12], [5, 53, 54, 55, 56]], ["common": 5, "other": 5]),
        // The minute less the first slot would be one user's.
        ([[1, 2, 3, 4, 5], [6, 53, 54, 55, 56]], ["other": 10]),
        ([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 51]], ["common": 10, "other": 1]),
    ]

    @Test(arguments: clients.indices) func `a client of few users is told as other, also as a difference of rows`(index: Int) async throws {
        let (slots, told) = Self.clients[index]
        let found = try await run { table in
            for (number, users) in slots.enumerated() {
                try table.add(Self.sums(users), at: Self.key(Self.noon + Int64(number) * 10_000, Self.personal), of: Self.personal)
            }
            try table.decide(at: Timestamp(millisecondsSince1970: Self.noon + 60_000))
            var found: [String: Int64] = [:]
            try table.eachRow(in: [Self.noon..<Self.noon + 60_000]) { _, _, sums in
                for (part, sums) in sums.parts { found[part.name] = sums.requests }
            }
            return found
        }
        #expect(found == told)
    }

    /// A figure that was shown at some time: the numbers of the requests that it is the sum of.
    private typealias Figure = Set<Int>

    /// Figures of a series, and of its clients by their names; the empty name is the whole.
    private struct Shown: Sendable {
        var users: [Int] = []
        /// held[key]: the requests of each row.
        var held: [TelemetryKey: Figure] = [:]
        /// figures[name]
        var figures: [String: Set<Figure>] = [:]

        /// Notes what is shown of the rows now. Called after each step, so that no slot is removed and made again
        /// in between.
        mutating func note(_ table: any TelemetryTable) throws {
            for (key, figure) in held {
                guard let row = try table.row(at: key) else {
                    // The slot was removed. Sums that come for it now are a row of their own.
                    held[key] = nil
                    continue
                }
                #expect(row.sums.requests == Int64(figure.count))
                guard row.state == .shown else { continue }
                figures["", default: []].insert(figure)
                for (part, sums) in row.sums.told.parts where part.name != "other" {
                    let requests = figure.filter { TelemetryRowTests.client(of: users[$0]) == part.name }
                    #expect(sums.requests == Int64(requests.count))
                    figures[part.name, default: []].insert(requests)
                }
            }
        }
    }

    @Test(arguments: 0..<6) func `no difference of figures that were ever shown is of fewer than five users`(round: Int) async throws {
        let shown = try await run { table in
            var random = SeededRandom(seed: HistorySeed.value &+ UInt64(round))
            var (now, shown) = (Self.noon, Shown())
            for _ in 0..<400 {
                switch Int.random(in: 0..<40, using: &random) {
                case 0: now += Int64.random(in: 0...4_000_000, using: &random)
                case 1: now -= Int64.random(in: 0...4_000_000, using: &random)
                case 2: now += 86_400_000
                default: now += Int64.random(in: 0...9000, using: &random)
                }
                let asking = (0..<Int.random(in: 0...6, using: &random)).map { _ in Int.random(in: 0..<13, using: &random) }
                let first = Self.key(now, Self.personal)
                try table.add(Self.sums(asking, salt: first.within(.days).slot), at: first, of: Self.personal)
                let requests = shown.users.count..<shown.users.count + asking.count
                for tier in TelemetryTier.allCases { shown.held[first.within(tier), default: []].formUnion(requests) }
                shown.users += asking
                try table.decide(at: Timestamp(millisecondsSince1970: now))
                try table.trim(slotsKept: { $0 == .days ? 5 : 12 })
                try shown.note(table)
            }
            return shown
        }
        var random = SeededRandom(seed: HistorySeed.value)
        #expect(shown.figures[""]?.contains { !$0.isEmpty } == true && shown.figures["common"] != nil && shown.figures["rare"] == nil)
        for figures in shown.figures.values.map(Array.init) {
            for figure in figures {
                for _ in 0..<8 {
                    var rest = figure
                    for other in figures.shuffled(using: &random) where other.isSubset(of: rest) && (other.count < rest.count || !random.chance(2)) {
                        rest.subtract(other)
                        let count = Set(rest.map { shown.users[$0] }).count
                        #expect(count == 0 || count >= UserSketch.fewest, "\(count) users, seed \(HistorySeed.value)")
                    }
                }
            }
        }
    }

    @Test func `every tier has each request once, over roll-ups, a clock that goes back, and one that leaps`() async throws {
        try await run { table in
            var random = SeededRandom()
            var (now, total) = (Self.noon, Int64(0))
            for step in 0..<300 {
                now += step == 100 ? -3_600_000 : step == 200 ? 40 * 365 * 86_400_000 : step == 203 ? -40 * 365 * 86_400_000 : 7000
                let count = Int.random(in: 1...4, using: &random)
                try table.add(Self.sums(Array(0..<count)), at: Self.key(now, Self.ofPublic), of: Self.ofPublic)
                try table.decide(at: Timestamp(millisecondsSince1970: now))
                try table.trim()
                total += Int64(count)
            }
            for tier in TelemetryTier.allCases {
                var (sum, latencies) = (Int64(0), UInt64(0))
                try table.eachEntry(of: tier, slots: .min ... .max) { _, entry in
                    let row = try TelemetryRow(entry)
                    (sum, latencies) = (sum + row.sums.requests, latencies + row.sums.latency.count)
                }
                #expect(sum == total && latencies == UInt64(total), "\(tier)")
            }
            var read = Int64(0)
            let day = TelemetryTier.days.slot(milliseconds: Self.noon) * 86_400_000
            try table.eachRow(in: [day..<day + 50 * 366 * 86_400_000]) { _, _, sums in read += sums.requests }
            #expect(read == total)
        }
    }

    @Test func `a tier is bounded in slots and in bytes, and the slots made first go first`() async throws {
        let slots = try await run { table in
            // The second slot is of a clock that leapt.
            for slot in [0, 5000, 1, 2, 3] as [Int64] {
                try table.add(Self.sums([1]), at: Self.key(Self.noon + slot * 10_000, Self.ofPublic), of: Self.ofPublic)
            }
            try table.trim(slotsKept: { _ in 3 })
            var slots: [Int64] = []
            let first = TelemetryTier.tenSeconds.slot(milliseconds: Self.noon)
            try table.eachEntry(of: .tenSeconds, slots: .min ... .max) { key, _ in slots.append(key.slot - first) }
            try table.trim(slotsKept: { _ in 3 }, bytesMax: 1)
            #expect(try TelemetryTier.allCases.allSatisfy { try table.usage(of: $0).slots == 1 })
            return slots
        }
        #expect(slots == [1, 2, 3])
    }

    @Test func `series beyond the bound of a slot are one, those of private databases another`() async throws {
        try await run { table in
            for number in 0..<TelemetryRow.seriesMax + 20 {
                for databases in [TelemetrySeries.Databases.public, .personal] {
                    let series = TelemetrySeries(operation: "o\(number)", databases: databases)
                    try table.add(Self.sums([1]), at: Self.key(Self.noon, series), of: series)
                }
            }
            #expect(try table.seriesCount(of: .hours, TelemetryTier.hours.slot(milliseconds: Self.noon)) == TelemetryRow.seriesMax + 2)
            var counts: [TelemetrySeries: Int64] = [:]
            let day = Self.noon - 43_200_000
            try table.eachRow(in: [day..<day + 86_400_000], shownOnly: false) { counts[$1, default: 0] += $2.requests }
            #expect(counts.values.reduce(0, +) == Int64(2 * (TelemetryRow.seriesMax + 20)))
            #expect(counts[TelemetrySeries(operation: "", databases: .personal).other] == Int64(TelemetryRow.seriesMax / 2 + 20))
        }
    }

    @Test func `what cannot be written is kept in memory within a bound, in coarser slots, and none of today's is lost`() async throws {
        var pending = TelemetryPending()
        for step in 0..<3000 {
            let series = TelemetrySeries(operation: "o\(step % 9)", databases: .public)
            pending.add(series, at: Timestamp(millisecondsSince1970: Self.noon + Int64(step) * 10_000)) { $0.merge(Self.sums([1])) }
            #expect(pending.count <= TelemetryPending.most + 1)
        }
        let taken = pending
        let count = try await run { table in
            try taken.write(to: table)
            var count = Int64(0)
            try table.eachEntry(of: .days, slots: .min ... .max) { count += try TelemetryRow($1).sums.requests }
            return count
        }
        #expect(count == 3000)
    }
}
