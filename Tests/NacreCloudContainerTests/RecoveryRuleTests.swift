import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

@Suite struct RecoveryRuleTests {
    @Test func `a way in stays where it is marked and the address was verified before`() {
        let (device, session, passkey) = (WayIn.signIn(.account, id: "1"), WayIn.signIn(.web, id: "1"), WayIn.passkey("1"))
        for (way, asked, isVerified, stays) in [
            (device, [device], true, true), (passkey, [passkey, device], true, true),
            // Nothing is marked, or another item with the same ID is.
            (device, [], true, false), (device, [session], true, false), (session, [device], true, false), (passkey, [device, session], true, false),
            // Another person may have prepared the account.
            (device, [device], false, false), (passkey, [passkey], false, false),
        ] as [(WayIn, Set<WayIn>, Bool, Bool)] {
            #expect(RecoveryRule.stays(way, asked: asked, isAddressVerified: isVerified) == stays, "\(way) \(asked) \(isVerified)")
        }
    }
}
