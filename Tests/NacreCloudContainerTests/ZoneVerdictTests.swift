import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

@Suite struct ZoneVerdictTests {
    private let key = DatabaseKey(container: TestCloud.container, environment: .development, scope: .private, owner: "_ann")

    private func row(_ name: String) -> ZoneRow {
        ZoneRow(address: ZoneAddress(database: DatabaseID(key), zone: 5), name: name, run: 1, lastSeq: 3)
    }

    private func verdict(
        _ type: ZoneOperation.OperationType, _ zoneID: ZoneID, over existing: ZoneRow? = nil, hasRoom: Bool = true
    ) -> ZoneVerdict {
        ZoneVerdict(ZoneOperation(type, zoneID), over: existing, in: key, by: Caller(.world), hasRoom: hasRoom)
    }

    @Test func `a zone is made once, kept, and deleted once`() {
        let zoneID = ZoneID(zoneName: "Z")
        #expect(verdict(.create, zoneID) == .create)
        #expect(verdict(.create, zoneID, over: row("Z")) == .keep(row("Z")))
        #expect(verdict(.delete, zoneID, over: row("Z")) == .delete(row("Z")))
        #expect(verdict(.delete, zoneID) == .refuse(.zoneNotFound(zoneID)))
    }

    @Test func `where there is no room a zone is not made, and all else is done`() {
        let zoneID = ZoneID(zoneName: "Z")
        #expect(verdict(.create, zoneID, hasRoom: false) == .refuse(.noRoomForZones))
        #expect(verdict(.create, zoneID, over: row("Z"), hasRoom: false) == .keep(row("Z")))
        #expect(verdict(.create, .defaultZone, hasRoom: false) == .keepDefault)
        #expect(verdict(.delete, zoneID, over: row("Z"), hasRoom: false) == .delete(row("Z")))
        guard case .refuse(let error) = verdict(.create, ZoneID(zoneName: ""), hasRoom: false) else { return }
        #expect(error.field == "zoneName", "what is wrong with a name is told first")
    }

    @Test func `the default zone is always there: made without a row, never deleted`() {
        for existing in [nil, row(ZoneID.defaultZoneName)] {
            #expect(verdict(.create, .defaultZone, over: existing) == .keepDefault)
            #expect(verdict(.delete, .defaultZone, over: existing) == .refuse(.cannotDeleteDefaultZone))
        }
    }

    @Test(arguments: ["", "_Z", "Zoë", String(repeating: "z", count: 256)]) func `a zone's name follows the rule of names`(name: String) {
        guard case .refuse(let error) = verdict(.create, ZoneID(zoneName: name)) else {
            Issue.record("\(name) was taken")
            return
        }
        #expect(error.field == "zoneName")
    }

    @Test(arguments: ZoneOperation.OperationType.allCases) func `another owner's zone is out of reach`(type: ZoneOperation.OperationType) {
        let bobs = ZoneID(zoneName: "Z", ownerRecordName: "_bob")
        #expect(verdict(type, bobs, over: row("Z")) == .refuse(.anotherUsersZone(bobs)))
        let own = ZoneID(zoneName: "Z", ownerRecordName: "_ann")
        #expect(verdict(.create, own) == .create)
    }
}
