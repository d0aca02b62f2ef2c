import NacreCloudServerWire
import NacreCloudWire

/// Measures how fast messages of 200 records of eight fields are read and written, as a JSON object in MB/s.
///
///     NacreJSONThroughput SECONDS
///
/// Each figure is the best of many short rounds: the code's own speed, whatever else the machine does.
@main
struct NacreJSONThroughput {
    private static let recordCount = 200
    private static let rounds = 20

    static func main() throws {
        let seconds = CommandLine.arguments.dropFirst().first.flatMap(Double.init) ?? 1
        let records = (0..<recordCount).map(record)
        let form = AnswerForm(zoneID: ZoneID(zoneName: "Notes"))
        let answer = RecordsResponse(records: records.map { .record($0) })
        let answerBytes = answer.json(form)
        let requestBytes = RecordsModifyRequest(operations: records.map(operation), zoneID: ZoneID(zoneName: "Notes")).json()

        let requestRead = try rate(of: requestBytes.count, seconds) {
            guard try RecordsModifyRequest(json: requestBytes).operations.count == recordCount else { throw Difference() }
        }
        let answerRead = try rate(of: answerBytes.count, seconds) {
            guard try RecordsResponse(json: answerBytes).records.count == recordCount else { throw Difference() }
        }
        let answerWrite = try rate(of: answerBytes.count, seconds) {
            guard answer.json(form).count == answerBytes.count else { throw Difference() }
        }
        print(
            #"{"request_bytes":\#(requestBytes.count),"answer_bytes":\#(answerBytes.count),"#
                + #""request_read":\#(requestRead),"answer_read":\#(answerRead),"answer_write":\#(answerWrite)}"#)
    }

    /// The value read or written differs from the original.
    private struct Difference: Error {}

    /// Returns the megabytes a second of `body` over `bytes` bytes, in the best round.
    private static func rate(of bytes: Int, _ seconds: Double, _ body: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        var best = 0.0
        for _ in 0..<rounds {
            let start = clock.now
            let end = start + .seconds(seconds / Double(rounds))
            var count = 0
            repeat {
                try body()
                count += 1
            } while clock.now < end
            let elapsed = start.duration(to: clock.now) / .seconds(1)
            best = max(best, Double(count * bytes) / elapsed / 1e6)
        }
        return best
    }

    private static func record(_ number: Int) -> Record {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 700_000_000.123), userRecordName: "_5f0c8a2e4b7d41f6a93c1e0d2b4a6c8e")
        return Record(
            recordName: "r\(number)", recordType: "Note", recordChangeTag: "1x\(number)", created: stamp, modified: stamp,
            fields: RecordFields([
                .init("title", .string("The quick brown fox jumps over the lazy dog")),
                .init("body", .string(String(repeating: "lorem ipsum ", count: 20))),
                .init("count", .int64(Int64(number))),
                .init("price", .double(3.25)),
                .init("when", .timestamp(Timestamp(secondsSince2001: 684_080_216.238))),
                .init("tags", .stringList(["a", "b"])),
                .init("done", .int64(1)),
                .init("link", .string("https://example.com/notes")),
            ]))
    }

    private static func operation(_ record: Record) -> RecordOperation {
        RecordOperation(.create, RecordChange(recordName: record.recordName, recordType: record.recordType, set: record.fields))
    }
}
