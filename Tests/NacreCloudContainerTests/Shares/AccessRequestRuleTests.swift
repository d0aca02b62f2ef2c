import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the rules of access requests, as tables. CloudKit: `CKShare.requesters`, `CKShareRequestAccessOperation`;
/// docs/decisions/shares.md.
@Suite struct AccessRequestRuleTests {
    private static let now = Timestamp(secondsSince2001: 7)
    private static let eve = ParticipantIdentity(
        userRecordName: "_eve", nameComponents: NameComponents(givenName: "Eve"), lookupInfo: .emailAddress("eve@example.com"))
    private static let fay = ParticipantIdentity(userRecordName: "_fay", lookupInfo: .phoneNumber("+49301234567"))

    private static func participant(_ name: String, _ role: ParticipantRole = .privateUser, accepted: Bool = true) -> ShareState.Participant {
        .init(id: "id" + name, user: name, invitation: nil, role: role, permission: .readWrite, isAccepted: accepted)
    }

    private static func state(
        _ permission: SharePermission = .none, _ participants: [ShareState.Participant] = [], allows: Bool = true,
        requesters: [ParticipantIdentity] = [], blocked: [ParticipantIdentity] = []
    ) -> ShareState {
        ShareState(
            shortGUID: "guid", publicPermission: permission, participants: participants, allowsAccessRequests: allows, requesters: requesters,
            blocked: blocked)
    }

    // MARK: Asking

    struct Asking: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var state: ShareState
        var email: String? = "eve@example.com"
        var isVerified = true
        var phone: String?
        /// The addresses of waiting requesters afterwards; nil: unchanged.
        var result: Result<[UserLookupInfo]?, ServerError>
    }

    private static let mailed = ShareState.Participant(
        id: "m", user: nil, invitation: .emailAddress("eve@example.com"), role: .privateUser, permission: .readOnly, isAccepted: false)

    static let askings: [Asking] = [
        .init(testDescription: "a stranger", state: state(), result: .success([.emailAddress("eve@example.com")])),
        .init(
            testDescription: "a stranger by a verified number", state: state(), isVerified: false, phone: "+49301234567",
            result: .success([.phoneNumber("+49301234567")])),
        .init(testDescription: "nothing verified", state: state(), isVerified: false, result: .failure(.requestNeedsContact)),
        .init(testDescription: "no account", state: state(), email: nil, result: .failure(.requestNeedsContact)),
        .init(testDescription: "once more", state: state(requesters: [fay, eve]), result: .success(nil)),
        .init(
            testDescription: "once more, by another address", state: state(requesters: [eve, fay]), email: "new@example.com",
            result: .success([.emailAddress("new@example.com"), .phoneNumber("+49301234567")])),
        .init(testDescription: "a share that takes no requests", state: state(allows: false), result: .failure(.notInvited)),
        .init(
            testDescription: "a share that takes none, of somebody with nothing verified", state: state(allows: false), isVerified: false,
            result: .failure(.notInvited)),
        .init(testDescription: "who is blocked", state: state(blocked: [eve]), result: .failure(.notInvited)),
        .init(testDescription: "who is blocked, at an open share", state: state(.readOnly, blocked: [eve]), result: .failure(.notInvited)),
        .init(testDescription: "a member", state: state(.none, [participant("_eve")]), result: .failure(.participantAlreadyInvited)),
        .init(
            testDescription: "who is invited by name", state: state(.none, [participant("_eve", accepted: false)]),
            result: .failure(.participantAlreadyInvited)),
        .init(testDescription: "who is invited by address", state: state(.none, [mailed]), result: .failure(.participantAlreadyInvited)),
        .init(
            testDescription: "who is invited by an address that is not verified", state: state(.none, [mailed]), isVerified: false,
            result: .failure(.participantMayNeedVerification)),
        .init(testDescription: "an open share", state: state(.readOnly), result: .failure(.participantAlreadyInvited)),
        .init(
            testDescription: "one too many",
            state: state(requesters: (0..<Limits.accessRequestsPerShare).map { ParticipantIdentity(userRecordName: "_u\($0)", lookupInfo: nil) }),
            result: .failure(.tooManyAccessRequests)),
    ]

    @Test(arguments: askings) func `who may ask for access, and what it makes of the share`(row: Asking) {
        let contact = row.email.map { ShareContact(email: $0, isEmailVerified: row.isVerified, phone: row.phone, names: Self.eve.nameComponents) }
        let standing = ShareRelation(of: "_eve", contact: contact, in: row.state, owner: "_ada")
        let next = row.state.requested(by: "_eve", as: contact?.requester("_eve"), standing)
        #expect(next.map { $0?.requesters.compactMap(\.lookupInfo) } == row.result)
        guard case .success(let state?) = next else { return }
        #expect(state.participants == row.state.participants && state.access(of: "_eve") == nil, "who asks takes no part")
        #expect(state.requesters.first { $0.userRecordName == "_eve" }?.nameComponents == Self.eve.nameComponents)
        #expect(ShareRelation(of: "_eve", contact: contact, in: state, owner: "_ada") == .stranger)
    }

    // MARK: Answering

    struct Answering: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var judge = ShareEditor.owner("_ada")
        var before: ShareState
        var change: ShareChange
        /// Requesters, participants and blocked users afterwards; or the error.
        var after: Result<[[String]], ServerError>
    }

    private static let hers = ParticipantIdentity(userRecordName: "_eve")
    private static func invite(_ info: UserLookupInfo) -> ShareParticipant {
        ShareParticipant(participantID: "new", identity: ParticipantIdentity(lookupInfo: info), permission: .readWrite)
    }

    static let answerings: [Answering] = [
        .init(
            testDescription: "a save without lists leaves requests", before: state(requesters: [eve, fay], blocked: []), change: ShareChange(),
            after: .success([["_eve", "_fay"], [], []])),
        .init(
            testDescription: "who is left out is denied", before: state(requesters: [eve, fay]), change: ShareChange(requesters: [fay]),
            after: .success([["_fay"], [], []])),
        .init(
            testDescription: "who is added by address is approved as the user who asked", before: state(requesters: [eve, fay]),
            change: ShareChange(participants: [invite(.emailAddress("Eve@example.com"))]), after: .success([["_fay"], ["_eve"], []])),
        .init(
            testDescription: "who is added by name is approved", before: state(requesters: [eve]),
            change: ShareChange(participants: [invite(.userRecordName("_eve"))], requesters: [eve]), after: .success([[], ["_eve"], []])),
        .init(
            testDescription: "who is blocked goes", before: state(requesters: [eve, fay]),
            change: ShareChange(requesters: [fay], blockedIdentities: [hers]), after: .success([["_fay"], [], ["_eve"]])),
        .init(
            testDescription: "who is blocked goes, also where the request is listed", before: state(requesters: [eve]),
            change: ShareChange(requesters: [eve], blockedIdentities: [eve]), after: .success([[], [], ["_eve"]])),
        .init(
            testDescription: "who is blocked takes no part any more",
            before: state(.none, [participant("_ben"), participant("_eve")], requesters: [eve]),
            change: ShareChange(blockedIdentities: [eve]), after: .success([[], ["_ben"], ["_eve"]])),
        .init(
            testDescription: "who is left out may ask again", before: state(blocked: [eve, fay]), change: ShareChange(blockedIdentities: [fay]),
            after: .success([[], [], ["_fay"]])),
        .init(
            testDescription: "nobody is blocked who has not asked", before: state(.none, [participant("_ben")]),
            change: ShareChange(blockedIdentities: [ParticipantIdentity(userRecordName: "_ben")]), after: .failure(.noSuchRequester)),
        .init(
            testDescription: "nobody asks for another", before: state(), change: ShareChange(requesters: [eve]), after: .failure(.noSuchRequester)),
        .init(
            testDescription: "an administrator decides too", judge: .administrator(owner: "_ada"),
            before: state(.none, [participant("_adm", .administrator)], requesters: [eve]),
            change: ShareChange(requesters: [], blockedIdentities: [eve]),
            after: .success([[], ["_adm"], ["_eve"]])),
        .init(
            testDescription: "and blocks no administrator", judge: .administrator(owner: "_ada"),
            before: state(.none, [participant("_adm", .administrator), participant("_eve", .administrator)], requesters: [eve]),
            change: ShareChange(blockedIdentities: [eve]), after: .failure(.administratorsAreTheOwners)),
        .init(
            testDescription: "to a share that is opened nobody has to ask", before: state(requesters: [eve], blocked: [fay]),
            change: ShareChange(publicPermission: .readOnly), after: .success([[], [], ["_fay"]])),
        .init(
            testDescription: "as many are blocked as may ask",
            before: state(requesters: [eve], blocked: (0..<Limits.accessRequestsPerShare).map { ParticipantIdentity(userRecordName: "_u\($0)") }),
            change: ShareChange(
                blockedIdentities: (0..<Limits.accessRequestsPerShare).map { ParticipantIdentity(userRecordName: "_u\($0)") } + [eve]),
            after: .failure(.tooManyBlocked)),
    ]

    @Test(arguments: answerings) func `what a save makes of requests follows the table`(row: Answering) {
        let next = ShareState.next(row.change, over: row.before, guid: "guid", by: row.judge, at: Self.now, secret: { "drawn" })
        #expect(
            next.map { [$0.requesters.compactMap(\.userRecordName), $0.participants.compactMap(\.user), $0.blocked.compactMap(\.userRecordName)] }
                == row.after)
        guard case .success(let state) = next else { return }
        for participant in state.participants where participant.id == "new" {
            #expect(participant.isApprovedRequester && !participant.isAccepted && participant.invitation == Self.eve.lookupInfo)
        }
        #expect(state.participants.allSatisfy { $0.isApprovedRequester == ($0.id == "new") })
    }

    @Test func `requests are allowed by a save, and until then by none`() throws {
        let fresh = try ShareState.next(ShareChange(), over: nil, guid: "guid", by: .owner("_ada"), at: Self.now, secret: { "drawn" }).get()
        #expect(!fresh.allowsAccessRequests)
        let open = try ShareState.next(
            ShareChange(allowsAccessRequests: true), over: fresh, guid: "guid", by: .owner("_ada"), at: Self.now, secret: { "drawn" }
        ).get()
        #expect(open.allowsAccessRequests && open.takesRequests(of: "_eve"))
        let closed = try ShareState.next(
            ShareChange(allowsAccessRequests: false), over: open, guid: "guid", by: .owner("_ada"), at: Self.now, secret: { "drawn" }
        ).get()
        #expect(!closed.takesRequests(of: "_eve"))
    }

    @Test func `who is blocked comes in by invitation alone`() {
        let once = ShareState.Participant(
            id: "o", user: nil, invitation: nil, role: .privateUser, permission: .readWrite, isAccepted: false, oneTimeSecret: "secret")
        let contact = ShareContact(email: "eve@example.com", isEmailVerified: true, phone: nil)
        func standing(_ state: ShareState) -> ShareRelation {
            ShareRelation(of: "_eve", contact: contact, secret: "secret", in: state, owner: "_ada")
        }
        #expect(standing(Self.state(.readWrite, blocked: [Self.eve])) == .stranger)
        #expect(standing(Self.state(.none, [once], blocked: [Self.eve])) == .stranger)
        #expect(standing(Self.state(.none, [once])) == .invited(once))
        #expect(standing(Self.state(.none, [Self.mailed], blocked: [Self.eve])) == .invited(Self.mailed))
    }

    @Test func `owner and administrators see who asks, and nobody else does`() {
        var approved = Self.participant("_ben")
        approved.isApprovedRequester = true
        let state = Self.state(
            .none, [approved, Self.participant("_adm", .administrator), Self.participant("_cleo")], requesters: [Self.eve], blocked: [Self.fay])
        for user in ["_ada", "_adm"] {
            let details = state.details(for: user, owner: "_ada")
            #expect(details.requesters == [Self.eve] && details.blockedIdentities == [Self.fay] && details.allowsAccessRequests)
            #expect(details.participants.map(\.isApprovedRequester) == [false, true, false, false])
        }
        for user in ["_ben", "_cleo", "_eve", "_fay", "_stranger", nil] {
            let details = state.details(for: user, owner: "_ada")
            #expect(details.requesters.isEmpty && details.blockedIdentities.isEmpty, "\(user ?? "nobody")")
            #expect(details.participants.filter(\.isApprovedRequester).compactMap(\.identity.userRecordName) == (user == "_ben" ? ["_ben"] : []))
        }
    }
}
