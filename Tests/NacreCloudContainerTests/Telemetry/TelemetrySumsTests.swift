import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the values that telemetry is summed up in.
@Suite struct TelemetrySumsTests {
    @Test func `a percentile of merged histograms is within a sixteenth of the exact one`() {
        var random = SeededRandom()
        for _ in 0..<20 {
            var (all, histograms) = ([Int64](), [LatencyHistogram](repeating: LatencyHistogram(), count: 4))
            for _ in 0..<Int.random(in: 1...500, using: &random) {
                let value = Int64(1) << Int64.random(in: 0...30, using: &random)
                let drawn = Int64.random(in: value / 2...value, using: &random)
                all.append(drawn)
                histograms[Int.random(in: 0..<4, using: &random)].record(microseconds: drawn)
            }
            var merged = LatencyHistogram()
            for histogram in histograms { merged.merge(histogram) }
            all.sort()
            #expect(merged.count == UInt64(all.count))
            for part in [0.5, 0.95, 0.99, 1] {
                let exact = Double(all[max(Int((part * Double(all.count)).rounded(.up)), 1) - 1])
                let told = merged.percentile(part) ?? -1
                #expect(abs(told - exact) <= exact * LatencyHistogram.relativeError, "\(part): \(told) for \(exact), seed \(HistorySeed.value)")
            }
        }
    }

    @Test func `a histogram takes any duration, and without requests has no percentile`() {
        var histogram = LatencyHistogram()
        #expect(histogram.percentile(0.5) == nil)
        for value in [Int64.min, -1, 0, 7, .max] { histogram.record(microseconds: value) }
        #expect(histogram.count == 5 && histogram.percentile(0) == 0 && histogram.percentile(1).map { $0 > 4e9 } == true)
    }

    private func sketch(_ users: Range<UInt64>, salt: Int64 = 1) -> UserSketch {
        var sketch = UserSketch()
        for user in users {
            var random = SeededRandom(seed: user)
            sketch.insert(random.next(), salt: salt)
        }
        return sketch
    }

    @Test func `a sketch never counts more users than there are, and estimates their number`() {
        for count: UInt64 in [0, 1, 2, 3, 4, 5, 20, 100, 1000, 20_000] {
            var merged = sketch(0..<count / 2)
            merged.merge(sketch(count / 3..<count))
            merged.merge(merged)
            #expect(UInt64(merged.atLeast) <= count)
            let error = abs(Double(merged.estimate) - Double(count))
            #expect(error <= max(1, 0.15 * Double(count)), "\(merged.estimate) for \(count)")
        }
    }

    @Test func `users of two salts are never added up: the larger set is kept`() {
        var sketch = sketch(0..<4, salt: 1)
        sketch.merge(self.sketch(0..<3, salt: 2))
        sketch.insert(99, salt: 2)
        #expect(sketch == self.sketch(0..<4, salt: 1))
        sketch.merge(self.sketch(0..<9, salt: 3))
        #expect(sketch == self.sketch(0..<9, salt: 3))
    }

    @Test func `few users are never counted as more than they are, and those of two salts not added up`() {
        var users = FewUsers()
        for hash: UInt64 in [1, 65, 2, 3] { users.merge(FewUsers(hash, salt: 1)) }
        #expect(users.atLeast == 3, "two hashes may have one bit")
        users.merge(FewUsers(9, salt: 2))
        #expect(users.atLeast == 3)
    }

    private func sums() -> TelemetrySums {
        var sums = TelemetrySums()
        (sums.requests, sums.clientErrors, sums.serverErrors, sums.itemErrors) = (7, 2, 1, 4)
        (sums.bytesIn, sums.bytesOut, sums.asked, sums.answered, sums.microseconds) = (100, 2000, 30, 29, 1_000_000)
        for value: Int64 in [3, 900, 70_000] { sums.latency.record(microseconds: value) }
        sums.add(TelemetrySums.PartSums(requests: 2, errors: 2, microseconds: 9, users: FewUsers(3, salt: 1)), to: TelemetryPart(.code, "CONFLICT"))
        (sums.users, sums.monthUsers) = (sketch(0..<9), sketch(0..<200, salt: 4))
        sums.stored = TelemetrySums.Stored(milliseconds: 5, bytes: 6)
        return sums
    }

    @Test func `a row is read as it was written, and damaged bytes never as a crash`() throws {
        var row = TelemetryRow(of: TelemetrySeries(operation: "records/modify", databases: .personal))
        (row.sums, row.uncovered) = (sums(), sketch(3..<5))
        let entry = row.entry
        #expect(try TelemetryRow(entry) == row)
        var random = SeededRandom()
        for _ in 0..<2000 {
            var bytes = entry.bytes
            for _ in 0..<3 { bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: .min ... .max, using: &random) }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            if var read = try? TelemetryRow(TelemetryEntry(state: .shown, bytes: bytes)) { read.sums.merge(row.sums) }
        }
    }

    @Test func `sums count each part once, and parts beyond the bound together`() {
        var (one, other) = (TelemetrySums(), TelemetrySums())
        for number in 0..<TelemetryPart.most { one.add(TelemetrySums.PartSums(requests: 1), to: TelemetryPart(.client, "a\(number)")) }
        for number in 0..<5 { other.add(TelemetrySums.PartSums(requests: 2), to: TelemetryPart(.client, "b\(number)")) }
        one.merge(other)
        #expect(one.parts.count == TelemetryPart.most + 1)
        #expect(one.parts[TelemetryPart(.client, "other")]?.requests == 10)
        #expect(one.parts.values.reduce(0) { $0 + $1.requests } == Int64(TelemetryPart.most) + 10)
    }

    @Test(
        arguments: [
            (20_423, 2025 * 12 + 11, "1 December 2025"), (20_422, 2025 * 12 + 10, "30 November 2025"), (20_454, 2026 * 12, "1 January 2026"),
            (0, 1970 * 12, "1 January 1970"), (-1, 1969 * 12 + 11, "31 December 1969"), (11_016, 2000 * 12 + 1, "29 February 2000"),
            (11_017, 2000 * 12 + 2, "1 March 2000"),
        ] as [(Int64, Int64, String)])
    func `a salt ends with its month`(day: Int64, month: Int64, date: String) {
        // Years begin in March in the numbers of months.
        #expect(TelemetrySalts.month(of: day) == month - 2, "\(date)")
    }

    @Test func `salts of a day and a month stay until those are over`() {
        var (salts, made) = (TelemetrySalts(), Int64(0))
        func draw(_ day: Double) -> (Int64, Int64) {
            let found = salts.salts(at: Timestamp(millisecondsSince1970: Int64(day * 86_400_000))) {
                made += 1
                return TelemetrySalt(id: made, key: [])
            }
            return (found.day.id, found.month.id)
        }
        #expect(draw(20_416.0) == (1, 2) && draw(20_416.9) == (1, 2) && draw(20_417.5) == (3, 2))
        var restarted = TelemetrySalts(known: salts.known)
        #expect(restarted.salts(at: Timestamp(millisecondsSince1970: 20_417 * 86_400_000)) { TelemetrySalt(id: 99, key: []) }.day.id == 3)
        salts.forget(before: Timestamp(millisecondsSince1970: 20_418 * 86_400_000))
        #expect(salts.known.values.map(\.id) == [2])
        salts.forget(before: Timestamp(millisecondsSince1970: 20_423 * 86_400_000))
        #expect(salts.known.isEmpty)
    }
}
