import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

@Suite struct FiniteNumberTests {
    private static let endless: [FieldValue] = [.nan, .infinity, -.infinity].flatMap { number in
        [
            FieldValue.double(number), .doubleList([1, number]), .timestamp(Timestamp(secondsSince2001: number)),
            .timestampList([Timestamp(secondsSince2001: number)]), .location(Location(latitude: number, longitude: 0)),
            .location(Location(latitude: 0, longitude: 0, altitude: number)), .locationList([Location(latitude: 0, longitude: number)]),
        ]
    }

    @Test(arguments: endless) func `a number that is none is refused, and its field named`(value: FieldValue) throws {
        let fault = try #require(refusal([("fine", .double(1)), ("broken", value)]))
        #expect(fault.code == .badRequest && fault.field == "broken")
    }

    @Test func `the largest and the smallest numbers are numbers`() {
        let values: [FieldValue] = [
            .double(.greatestFiniteMagnitude), .double(.leastNonzeroMagnitude), .double(-0.0), .int64(.min), .int64(.max),
            .timestamp(Timestamp(secondsSince2001: -1e12)), .location(Location(latitude: -90, longitude: 180)), .doubleList([]),
        ]
        for value in values { #expect(refusal([("f", value)]) == nil) }
    }

    private func refusal(_ fields: [(String, FieldValue)]) -> ServerError? {
        let change = RecordChange(recordName: "r", recordType: "T", set: RecordFields(fields.map { RecordFields.Field($0.0, $0.1) }))
        let key = DatabaseKey(container: "iCloud.com.example", environment: .development, scope: .private, owner: "_ann")
        return RequestShape.fault(of: RecordOperation(.create, change), in: .defaultZone, of: key, by: Caller(.world))
    }
}
