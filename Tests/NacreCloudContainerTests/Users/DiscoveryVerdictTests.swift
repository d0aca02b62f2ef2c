import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the rules of discovery, as tables.
@Suite struct DiscoveryVerdictTests {
    private func verdict(_ scope: DatabaseKey.Scope, _ identity: Caller.Identity) -> ServerError? {
        usersVerdict(DatabaseTarget(container: TestCloud.container, environment: .production, scope: scope), by: Caller(identity))
    }

    @Test func `users who are signed in look users up, in the public database alone`() {
        #expect(verdict(.public, .user("_ann")) == nil)
        for (scope, type) in [(DatabaseKey.Scope.private, "privatedb"), (.shared, "shareddb")] {
            let refusal = verdict(scope, .user("_ann"))
            #expect(refusal?.code == .badRequest && refusal?.nativeCode == NativeErrorCode.badDatabase.rawValue)
            #expect(refusal?.reason == "endpoint not applicable in the database type '\(type)'")
        }
        #expect(verdict(.registry, .user("_ann")) == .authenticationRequired)
    }

    @Test(arguments: DatabaseKey.Scope.allCases) func `an API token alone and a server-to-server key discover nobody`(scope: DatabaseKey.Scope) {
        #expect(verdict(scope, .world) == .authenticationRequired)
        #expect(verdict(scope, .serverKey("_key")) == .keyIsNoUser)
        #expect(verdict(scope, .serverKey("_key"))?.reason == "Authentication failed")
    }

    @Test(
        arguments: [
            (.app, .initialState, .granted, .granted), (.app, .initialState, .denied, .denied),
            // Asked once: a refusal stays, whatever an app sends later.
            (.app, .denied, .granted, .denied), (.app, .denied, .denied, .denied),
            (.app, .granted, .granted, .granted), (.app, .granted, .denied, .denied),
            (.user, .initialState, .granted, .granted), (.user, .initialState, .denied, .denied),
            (.user, .denied, .granted, .granted), (.user, .denied, .denied, .denied),
            (.user, .granted, .granted, .granted), (.user, .granted, .denied, .denied),
        ] as [(DiscoverabilitySource, Discoverability, Discoverability, Discoverability)])
    func `an app's answer counts once, and its user's always`(
        judge: DiscoverabilitySource, current: Discoverability, answer: Discoverability, result: Discoverability
    ) {
        #expect(discoverabilityVerdict(answer, over: current, by: judge) == result)
    }

    @Test func `what is shown of a user is the name and the address that was asked with`() {
        let ada = DiscoverableEntry(givenName: "Ada", familyName: nil)
        #expect(
            ada.identity(named: "_a", lookupInfo: .emailAddress("Ada@x"))
                == UserIdentity(
                    userRecordName: "_a", nameComponents: NameComponents(givenName: "Ada"), lookupInfo: .emailAddress("Ada@x")))
        #expect(DiscoverableEntry().identity(named: "_a") == UserIdentity(userRecordName: "_a"))
    }

    @Test func `a list names each user once, and a client as many as it may`() {
        let framework = Caller(.user("_ann"), client: .framework)
        func fault(_ infos: [UserLookupInfo], _ caller: Caller = Caller(.user("_ann"))) -> ServerError? {
            LookupShape.fault(of: infos, field: "lookupInfos", by: caller)
        }
        func many(_ count: Int) -> [UserLookupInfo] { (0..<count).map { .emailAddress("\($0)@x") } }
        #expect(fault([]) == nil)
        #expect(fault(many(200)) == nil && fault(many(400), framework) == nil)
        #expect(fault(many(201)) == .tooManyItems(201, limit: 200, field: "lookupInfos"))
        #expect(fault(many(401), framework) == .tooManyItems(401, limit: 400, field: "lookupInfos"))
        #expect(fault([.emailAddress("a"), .emailAddress("a")]) == .repeatedName(field: "lookupInfos"))
        #expect(fault([.emailAddress("a"), .phoneNumber("a"), .userRecordName("a"), .emailAddress("A")]) == nil)
        let hash = String(repeating: "0f", count: 32)
        #expect(fault([.contactHash(hash)]) == nil)
        for wrong in ["", String(hash.dropLast()), hash + "0", hash.uppercased()] {
            #expect(fault([.userRecordName("a"), .contactHash(wrong)])?.field == "lookupInfos[1].nacre.contactHash")
        }
    }

    @Test func `addresses and numbers cost, whoever has them, and random names do not`() {
        for info in [UserLookupInfo.emailAddress("a"), .phoneNumber("a"), .contactHash("a")] {
            #expect(info.guessingCost == Limits.addressLookupCost)
        }
        #expect(UserLookupInfo.userRecordName("a").guessingCost == 0)
    }

    @Test(
        arguments: [
            ("Ada", nil), (nil, nil), ("", nil), ("Žofia Ní Bhriain", nil), ("علي\u{200c}رضا", nil), ("👩‍🚀", nil),
            (String(repeating: "x", count: 256), nil), (String(repeating: "x", count: 257), "name is too long"),
            ("A\nB", "name has a character that cannot be shown"), ("A\u{0}", "name has a character that cannot be shown"),
            ("A\u{2028}", "name has a character that cannot be shown"), ("\u{202e}adA", "name has a character that cannot be shown"),
            ("\u{2066}A", "name has a character that cannot be shown"),
        ] as [(String?, String?)])
    func `a name is a line that can be shown`(name: String?, reason: String?) {
        let fault = PersonNameRule.fault(name, field: "givenName")
        #expect(fault?.reason == reason)
        #expect(fault == nil || fault?.field == "givenName" && fault?.code == .badRequest)
    }
}
