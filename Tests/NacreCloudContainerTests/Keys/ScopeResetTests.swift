import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryptionForms
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the end of a log of keys for the zones that were encrypted with them.
@Suite(.timeLimit(.minutes(1))) struct ScopeResetTests {
    @Test(arguments: Engine.ofRules)
    func `a reset of the keys ends the zones with scopes for that reason, and no others`(_ engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ada = test.user("_ada")
        try await ada.makeZone("Diary", "Plain")
        try await ada.modify([.create("note")])
        var keys = try SampleKeyring("_ada", container: TestCloud.container)
        _ = try await ada.cloud.appendKeyStatement(keys.request(), in: ada.target, by: ada.caller)
        for zone in ["Diary", ZoneID.defaultZoneName] {
            let scope = try SampleScope(keys, zone: zone)
            _ = try await ada.cloud.modifyScope(scope.request(isNewKey: true), in: ada.target, by: ada.caller)
        }
        let before = try await ada.databaseChanges().syncToken
        try keys.say(SampleKeyring.reset(), isRecovery: true)
        _ = try await ada.cloud.appendKeyStatement(keys.request(), in: ada.target, by: ada.caller)
        let told = try await ada.databaseChanges(after: before).zones
        #expect(told.map(\.zoneID.zoneName) == ["Diary"] && told.first?.deletion == .encryptedDataReset)
        let listed = try await ada.cloud.listScope(
            KeysScopesListRequest(zoneID: ZoneID(zoneName: ZoneID.defaultZoneName)), in: ada.target, by: ada.caller)
        #expect(listed == KeysScopesListResponse(manifests: []))
        #expect(try await ada.lookup(["note"]).first?.record != nil)
        // Sent again, it ends nothing that was made since.
        try await ada.makeZone("Diary")
        _ = try await ada.cloud.appendKeyStatement(keys.request(), in: ada.target, by: ada.caller)
        #expect(try await ada.cloud.listZones(in: ada.target, by: ada.caller).zones.count == 3)
    }
}
