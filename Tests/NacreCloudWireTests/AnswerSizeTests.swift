import NacreCloudServerWire
import NacreCloudTestSupport
import Testing

@testable import NacreCloudWire

/// Tests of the size of an answer, which is known before it is written.
struct AnswerSizeTests {
    private static let forms = [AnswerForm(), AnswerForm(details: true, numbersAsStrings: true, zoneID: .defaultZone)]

    private func zone(_ seed: inout SeededRandom) -> ZoneID { ZoneID(zoneName: "Notes\u{1}", ownerRecordName: "_" + seed.name()) }

    @Test func `no answer is longer as JSON than it says`() {
        var seed = SeededRandom()
        for _ in 0..<2000 {
            let zone = zone(&seed)
            let records = RecordsResponse(records: (0..<3).map { _ in .record(seed.record(in: zone)) })
            var changes = seed.recordsChanges(in: zone)
            changes.syncToken = "t"
            for form in Self.forms {
                #expect(records.json(form).count <= records.answerBytes, "\(seed)")
                #expect(changes.json(form).count <= changes.answerBytes, "\(seed)")
            }
        }
    }

    private static let large: [FieldValue] = [
        .string(String(repeating: "\u{1}", count: 10_000)), .string(String(repeating: "\"\\\n", count: 10_000)),
        .string(String(repeating: "a", count: 100_000)), .string(String(repeating: "ä€😀", count: 10_000)),
        .bytes([UInt8](repeating: 0, count: 100_000)), .stringList([String](repeating: "", count: 10_000)),
        .int64List([Int64](repeating: .min, count: 10_000)), .int64List(Array(-5000..<5000)),
        .doubleList([Double](repeating: -.leastNonzeroMagnitude, count: 10_000)),
        .timestampList([Timestamp](repeating: Timestamp(secondsSince2001: -1_234_567_890.123456), count: 10_000)),
        .referenceList(
            [Reference](
                repeating: Reference(recordName: "r", action: .deleteSelf, zoneID: ZoneID(zoneName: "Notes", ownerRecordName: "_o")), count: 10_000)),
    ]

    // Each is a number: an argument is written down with the test's events, and a long list takes seconds there.
    @Test(arguments: large.indices)
    func `a large value takes no more than it says, and says no more than three times what it takes`(index: Int) {
        var record = AnswerBytesTests.record
        record.fields = RecordFields([RecordFields.Field("f", Self.large[index])])
        let answer = RecordsResponse(records: [.record(record)])
        let longest = Self.forms.map { answer.json($0).count }.max() ?? 0
        #expect(longest <= answer.answerBytes && answer.answerBytes <= 3 * longest, "\(longest), \(answer.answerBytes)")
    }

    @Test func `a conflict counts the record that it carries`() {
        let answer = RecordsResponse(records: [.failure(recordName: "13C3", AnswerBytesTests.conflict)])
        #expect(answer.json(AnswerForm(details: true)).count <= answer.answerBytes)
        #expect(answer.answerBytes > AnswerBytesTests.record.answerBytes && answer.valueBytes == AnswerBytesTests.record.fields.byteCount)
    }
}

struct LargestAnswerTests {
    /// Half of the memory for answers to users, which is one user's maximum.
    private static let room = 33_554_432

    @Test(arguments: [1, 8, 255])
    func `a record of the largest size has room in an answer, whatever it refers to and whatever its zone is called`(letters: Int) {
        let zone = ZoneID(zoneName: String(repeating: "\"", count: 255), ownerRecordName: "_" + String(repeating: "f", count: 32))
        let reference = Reference(recordName: String(repeating: "\"", count: letters), action: .none, zoneID: zone)
        let count = Limits.recordBytes / FieldValue.reference(reference).byteCount
        let fields: RecordFields = ["list": .referenceList([Reference](repeating: reference, count: count))]
        #expect(count > 3000 && fields.answerBytes < Self.room)
    }
}
