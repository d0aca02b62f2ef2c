import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the rules of shares, as tables. CloudKit: `CKShare`; docs/decisions/shares.md.
@Suite struct ShareRuleTests {
    private static let owner = ShareEditor.owner("_ada")
    private static let administrator = ShareEditor.administrator(owner: "_ada")
    private static let now = Timestamp(secondsSince2001: 7)

    private static func participant(
        _ name: String, _ role: ParticipantRole = .privateUser, _ permission: SharePermission = .readOnly, accepted: Bool = true
    ) -> ShareState.Participant {
        .init(id: "id" + name, user: name, invitation: .userRecordName(name), role: role, permission: permission, isAccepted: accepted)
    }

    private static func state(_ permission: SharePermission, _ participants: [ShareState.Participant]) -> ShareState {
        ShareState(shortGUID: "guid", publicPermission: permission, participants: participants)
    }

    private static func listed(_ participants: [ShareState.Participant]) -> [ShareParticipant] {
        participants.map {
            ShareParticipant(
                participantID: $0.id, identity: ParticipantIdentity(userRecordName: $0.user, lookupInfo: $0.invitation), role: $0.role,
                permission: $0.permission, acceptance: $0.isAccepted ? .accepted : .invited)
        }
    }

    private static let ben = participant("_ben")
    private static let cleo = participant("_cleo", accepted: false)
    private static let dora = participant("_dora", .publicUser, .none)
    private static let eve = participant("_eve", .administrator, .readWrite)

    private static func invite(_ name: String, role: ParticipantRole = .privateUser, _ permission: SharePermission = .readOnly) -> ShareParticipant {
        ShareParticipant(
            participantID: "id" + name, identity: ParticipantIdentity(lookupInfo: .userRecordName(name)), role: role, permission: permission)
    }

    private static func oneTime(_ id: String, of user: String? = nil) -> ShareParticipant {
        ShareParticipant(
            participantID: id, identity: ParticipantIdentity(userRecordName: user), permission: .readWrite, isOneTime: true,
            oneTimeSecret: "secret" + id)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var before: ShareState?
        var judge = ShareRuleTests.owner
        var change: ShareChange
        /// The participants afterwards, by name; or the error.
        var after: Result<[String], ServerError>
    }

    static let rows: [Row] = [
        Row(testDescription: "a new share has no participants", change: ShareChange(), after: .success([])),
        Row(testDescription: "it may begin with some", change: ShareChange(participants: [invite("_ben")]), after: .success(["_ben"])),
        Row(
            testDescription: "a participant that is not named goes", before: state(.none, [ben, cleo]),
            change: ShareChange(participants: listed([cleo])), after: .success(["_cleo"])),
        Row(
            testDescription: "without a list all stay", before: state(.none, [ben, cleo]), change: ShareChange(), after: .success(["_ben", "_cleo"])),
        Row(
            testDescription: "one who is REMOVED goes", before: state(.none, [ben]),
            change: ShareChange(participants: [
                ShareParticipant(participantID: "id_ben", identity: ParticipantIdentity(), acceptance: .removed)
            ]), after: .success([])),
        Row(
            testDescription: "setting readOnly removes pending participants, accepted ones stay", before: state(.none, [ben, cleo]),
            change: ShareChange(publicPermission: .readOnly), after: .success(["_ben"])),
        Row(
            testDescription: "also where the client names them", before: state(.none, [ben, cleo]),
            change: ShareChange(publicPermission: .readWrite, participants: listed([ben, cleo])), after: .success(["_ben"])),
        Row(
            testDescription: "setting none removes all participants", before: state(.readOnly, [ben, dora]),
            change: ShareChange(publicPermission: SharePermission.none), after: .success([])),
        Row(
            testDescription: "participants may be added again before saving", before: state(.readOnly, [ben, dora]),
            change: ShareChange(publicPermission: SharePermission.none, participants: listed([ben, dora]) + [invite("_fay")]),
            after: .success(["_ben", "_fay"])),
        Row(
            testDescription: "a share that stays public keeps those who came", before: state(.readOnly, [dora]),
            change: ShareChange(publicPermission: .readWrite), after: .success(["_dora"])),
        Row(
            testDescription: "adding requires that publicPermission is none", before: state(.readOnly, []),
            change: ShareChange(participants: [invite("_ben")]), after: .failure(.publicShareInvitesNobody)),
        Row(
            testDescription: "a public user cannot be added", before: state(.none, []),
            change: ShareChange(participants: [invite("_ben", role: .publicUser)]), after: .failure(.publicUsersComeByThemselves)),
        Row(
            testDescription: "a public user stays one", before: state(.readOnly, [dora]),
            change: ShareChange(participants: listed([participant("_dora", .privateUser, .readWrite)])), after: .failure(.roleStays)),
        Row(
            testDescription: "a matching identity is the existing participant", before: state(.none, [ben]),
            change: ShareChange(participants: [
                ShareParticipant(participantID: "other", identity: ParticipantIdentity(lookupInfo: .userRecordName("_ben")), permission: .readWrite)
            ]), after: .success(["_ben"])),
        Row(
            testDescription: "one participant stands in the list once", before: state(.none, [ben]),
            change: ShareChange(participants: listed([ben, ben])), after: .failure(.repeatedParticipant)),
        Row(
            testDescription: "nor is one invited twice", before: nil,
            change: ShareChange(participants: [invite("_ben"), invite("_ben")]), after: .failure(.repeatedParticipant)),
        Row(
            testDescription: "the owner is no participant to add", before: nil, change: ShareChange(participants: [invite("_ada")]),
            after: .failure(.ownerStays)),
        Row(
            testDescription: "nor becomes somebody else the owner", before: nil,
            change: ShareChange(participants: [ShareParticipant(identity: ParticipantIdentity(userRecordName: "_ben"), role: .owner)]),
            after: .failure(.ownerStays)),
        Row(
            testDescription: "a participant needs an identity", before: nil,
            change: ShareChange(participants: [ShareParticipant(participantID: "x", identity: ParticipantIdentity())]),
            after: .failure(.participantNeedsIdentity)),
        Row(
            testDescription: "an address that is none invites nobody", before: nil,
            change: ShareChange(participants: [
                ShareParticipant(participantID: "x", identity: ParticipantIdentity(lookupInfo: .emailAddress("nobody")))
            ]), after: .failure(.participantNeedsIdentity)),
        Row(
            testDescription: "nor does a number without its country", before: nil,
            change: ShareChange(participants: [
                ShareParticipant(participantID: "x", identity: ParticipantIdentity(lookupInfo: .phoneNumber("030 1234567")))
            ]), after: .failure(.phoneNeedsCountry)),
        Row(
            testDescription: "two who are claimed by one-time URLs are two", change: ShareChange(participants: [oneTime("x"), oneTime("y")]),
            after: .success([])),
        Row(
            testDescription: "who is claimed by a one-time URL has no identity before", change: ShareChange(participants: [oneTime("x", of: "_ben")]),
            after: .failure(.oneTimeIsNobodysYet)),
        Row(
            testDescription: "a share that is open to everybody has no one-time URLs", before: state(.readOnly, []),
            change: ShareChange(participants: [oneTime("x")]), after: .failure(.publicShareInvitesNobody)),
        Row(
            testDescription: "an unknown permission is none", before: nil, change: ShareChange(publicPermission: .unknown),
            after: .failure(.unknownShareValue)),
        Row(
            testDescription: "an administrator adds participants", before: state(.none, [eve]), judge: administrator,
            change: ShareChange(participants: listed([eve]) + [invite("_ben")]), after: .success(["_eve", "_ben"])),
        Row(
            testDescription: "and removes them", before: state(.none, [eve, ben]), judge: administrator,
            change: ShareChange(participants: listed([eve])), after: .success(["_eve"])),
        Row(
            testDescription: "and makes no administrator", before: state(.none, [eve]), judge: administrator,
            change: ShareChange(participants: listed([eve]) + [invite("_ben", role: .administrator)]), after: .failure(.roleStays)),
        Row(
            testDescription: "nor raises one", before: state(.none, [eve, ben]), judge: administrator,
            change: ShareChange(participants: listed([eve, participant("_ben", .administrator)])), after: .failure(.roleStays)),
        Row(
            testDescription: "nor removes one", before: state(.none, [eve, participant("_gus", .administrator)]), judge: administrator,
            change: ShareChange(participants: listed([eve])), after: .failure(.administratorsAreTheOwners)),
        Row(
            testDescription: "nor by closing the share", before: state(.readOnly, [eve, participant("_gus", .administrator)]), judge: administrator,
            change: ShareChange(publicPermission: SharePermission.none), after: .failure(.administratorsAreTheOwners)),
        Row(
            testDescription: "who closes it and names them, closes it", before: state(.readOnly, [eve, ben, participant("_gus", .administrator)]),
            judge: administrator,
            change: ShareChange(publicPermission: SharePermission.none, participants: listed([eve, participant("_gus", .administrator)])),
            after: .success(["_eve", "_gus"])),
        Row(
            testDescription: "nor by opening it, where one has not accepted",
            before: state(.none, [eve, participant("_gus", .administrator, accepted: false)]), judge: administrator,
            change: ShareChange(publicPermission: .readOnly), after: .failure(.administratorsAreTheOwners)),
        Row(
            testDescription: "the owner opens it so", before: state(.none, [eve, participant("_gus", .administrator, accepted: false)]),
            change: ShareChange(publicPermission: .readOnly), after: .success(["_eve"])),
        Row(
            testDescription: "an owner does", before: state(.none, [eve, ben]),
            change: ShareChange(participants: listed([participant("_ben", .administrator)])),
            after: .success(["_ben"])),
        Row(
            testDescription: "99 and the owner are as many as there may be", before: nil,
            change: ShareChange(participants: (0..<99).map { invite("_u\($0)") }), after: .success((0..<99).map { "_u\($0)" })),
        Row(
            testDescription: "100 and the owner are too many", before: nil, change: ShareChange(participants: (0..<100).map { invite("_u\($0)") }),
            after: .failure(.tooManyParticipants)),
    ]

    @Test(arguments: rows) func `a save of a share follows the table`(row: Row) {
        let next = ShareState.next(row.change, over: row.before, guid: "guid", by: row.judge, at: Self.now, secret: { "drawn" })
        #expect(next.map { $0.participants.compactMap(\.user) } == row.after)
        if case .success(let state) = next {
            #expect(state.shortGUID == "guid", "a share keeps its URL")
            let kept = state.participants.filter { one in row.before?.participants.contains { $0.user == one.user } == true }
            #expect(kept.allSatisfy { one in row.before?.participants.contains { $0.user == one.user && $0.isAccepted == one.isAccepted } == true })
        }
    }

    @Test func `a number is invited once, however it is written`() throws {
        func item(_ number: String) -> ShareParticipant {
            ShareParticipant(participantID: "x" + number.suffix(1), identity: ParticipantIdentity(lookupInfo: .phoneNumber(number)))
        }
        let first = try ShareState.next(
            ShareChange(participants: [item("+49 30 123-4567")]), over: nil, guid: "guid", by: Self.owner, at: Self.now, secret: { "drawn" }
        )
        .get()
        #expect(first.participants.map(\.invitation) == [.phoneNumber("+49301234567")])
        let second = try ShareState.next(
            ShareChange(participants: [item("0049301234567")]), over: first, guid: "guid", by: Self.owner, at: Self.now, secret: { "drawn" }
        )
        .get()
        #expect(second.participants == first.participants)
    }

    @Test func `nobody accepts for another: what a save says of acceptance is not believed`() throws {
        var item = Self.invite("_ben", .readWrite)
        item.acceptance = .accepted
        let state = try ShareState.next(ShareChange(participants: [item]), over: nil, guid: "guid", by: Self.owner, at: Self.now, secret: { "drawn" })
            .get()
        #expect(state.participants.map(\.isAccepted) == [false])
        #expect(state.access(of: "_ben") == nil)
    }

    @Test func `access is the participant's own permission, and of who came by the URL everybody's`() {
        let all: [SharePermission] = [.none, .readOnly, .readWrite]
        for open in all {
            for own in all {
                let state = Self.state(
                    open,
                    [
                        Self.participant("_p", .privateUser, own), Self.participant("_i", .privateUser, own, accepted: false),
                        Self.participant("_a", .administrator, own), Self.participant("_u", .publicUser, own),
                    ])
                #expect(state.access(of: "_p") == ShareAccess(own))
                #expect(state.access(of: "_i") == nil)
                #expect(state.access(of: "_a") == ShareAccess(own, isAdministrator: true))
                #expect(state.access(of: "_u") == ShareAccess(open))
                #expect(state.access(of: "_stranger") == nil)
                let members = (own == .none ? [] : ["_p", "_a"]) + (open == .none ? [] : ["_u"])
                #expect(Set(state.members) == Set(members))
            }
        }
        #expect(ShareAccess(.none) == nil && ShareAccess(.unknown) == nil)
        #expect(ShareAccess(.readOnly)?.mayWrite == false && ShareAccess(.readWrite)?.mayWrite == true)
    }

    // MARK: Standing

    struct StandingRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var user: String
        var email: String?
        var isVerified = false
        var phone: String?
        var secret: String?
        var state: ShareState
        var status: String
        /// The user's permission after accepting; nil: unchanged.
        var accepted: Result<SharePermission?, ServerError>
    }

    private static let mailed = ShareState.Participant(
        id: "m", user: nil, invitation: .emailAddress("ben@example.com"), role: .privateUser, permission: .readWrite, isAccepted: false)

    private static let lookedUp = ShareState.Participant(
        id: "l", user: "_ben", invitation: .emailAddress("ben@example.com"), role: .privateUser, permission: .readWrite, isAccepted: false)

    private static var approved: ShareState.Participant {
        var participant = lookedUp
        participant.isApprovedRequester = true
        return participant
    }

    private static let texted = ShareState.Participant(
        id: "t", user: nil, invitation: .phoneNumber("+49301234567"), role: .privateUser, permission: .readWrite, isAccepted: false)

    private static let once = ShareState.Participant(
        id: "o", user: nil, invitation: nil, role: .privateUser, permission: .readWrite, isAccepted: false, oneTimeSecret: "secret")

    private static let claimed = ShareState.Participant(
        id: "o", user: "_ben", invitation: nil, role: .privateUser, permission: .readWrite, isAccepted: true, oneTimeSecret: "secret")

    static let standings: [StandingRow] = [
        .init(
            testDescription: "a one-time URL, whoever comes", user: "_eve", secret: "secret", state: state(.none, [once]), status: "invited",
            accepted: .success(.readWrite)),
        .init(
            testDescription: "a one-time URL that somebody else has used", user: "_eve", secret: "secret", state: state(.none, [claimed]),
            status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "a one-time URL that the user has used", user: "_ben", secret: "secret", state: state(.none, [claimed]),
            status: "member",
            accepted: .success(nil)),
        .init(
            testDescription: "another secret", user: "_eve", secret: "secres", state: state(.none, [once]), status: "stranger",
            accepted: .failure(.notInvited)),
        .init(
            testDescription: "a shorter secret", user: "_eve", secret: "secre", state: state(.none, [once]), status: "stranger",
            accepted: .failure(.notInvited)),
        .init(
            testDescription: "no secret", user: "_eve", secret: "", state: state(.none, [once]), status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "the share's own URL", user: "_eve", state: state(.none, [once]), status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "a used one-time URL in the hands of who is invited otherwise", user: "_cleo", secret: "secret",
            state: state(.none, [claimed, cleo]), status: "invited", accepted: .success(.readOnly)),
        .init(
            testDescription: "the owner by a one-time URL", user: "_ada", secret: "secret", state: state(.none, [once]), status: "owner",
            accepted: .success(nil)),
        .init(
            testDescription: "an invited number", user: "_ben", email: "ben@example.com", phone: "+49301234567", state: state(.none, [texted]),
            status: "invited", accepted: .success(.readWrite)),
        .init(
            testDescription: "another's number", user: "_eve", email: "eve@example.com", isVerified: true, phone: "+49301234568",
            state: state(.none, [texted]), status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "a number beside an address that is not verified", user: "_ben", email: "ben@example.com", phone: "+49301234567",
            state: state(.none, [mailed, texted]), status: "invited", accepted: .success(.readWrite)),
        .init(testDescription: "the owner", user: "_ada", state: state(.none, []), status: "owner", accepted: .success(nil)),
        .init(
            testDescription: "a name that was looked up by the user's verified address", user: "_ben", email: "ben@example.com", isVerified: true,
            state: state(.none, [lookedUp]), status: "invited", accepted: .success(.readWrite)),
        .init(
            testDescription: "a name that was looked up by an address that its user only claims", user: "_ben", email: "ben@example.com",
            state: state(.none, [lookedUp]), status: "unverified", accepted: .failure(.participantMayNeedVerification)),
        .init(
            testDescription: "a name that was looked up by an address that its user has not", user: "_ben", email: "eve@example.com",
            isVerified: true, state: state(.none, [lookedUp]), status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "the address of a name that is another's", user: "_eve", email: "ben@example.com", isVerified: true,
            state: state(.none, [lookedUp]), status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "a user who asked by an address of before", user: "_ben", email: "eve@example.com",
            state: state(.none, [approved]), status: "invited", accepted: .success(.readWrite)),
        .init(testDescription: "a member", user: "_ben", state: state(.none, [ben]), status: "member", accepted: .success(nil)),
        .init(testDescription: "an invited user", user: "_cleo", state: state(.none, [cleo]), status: "invited", accepted: .success(.readOnly)),
        .init(
            testDescription: "an invited verified address", user: "_ben", email: "ben@example.com", isVerified: true, state: state(.none, [mailed]),
            status: "invited", accepted: .success(.readWrite)),
        .init(
            testDescription: "an invited address that is not verified", user: "_ben", email: "ben@example.com", state: state(.none, [mailed]),
            status: "unverified", accepted: .failure(.participantMayNeedVerification)),
        .init(
            testDescription: "another's verified address", user: "_eve", email: "eve@example.com", isVerified: true, state: state(.none, [mailed]),
            status: "stranger", accepted: .failure(.notInvited)),
        .init(testDescription: "no address", user: "_eve", state: state(.none, [mailed]), status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "a visitor of an open share", user: "_eve", state: state(.readOnly, []), status: "visitor", accepted: .success(.readOnly)
        ),
        .init(testDescription: "a stranger", user: "_eve", state: state(.none, [ben, cleo]), status: "stranger", accepted: .failure(.notInvited)),
        .init(
            testDescription: "one too many", user: "_eve", state: state(.readOnly, (0..<99).map { participant("_u\($0)", .publicUser, .none) }),
            status: "visitor", accepted: .failure(.tooManyParticipants)),
    ]

    @Test(arguments: standings) func `what a share is to a user, and what accepting makes of it`(row: StandingRow) {
        let contact = row.email.map { ShareContact(email: $0, isEmailVerified: row.isVerified, phone: row.phone) }
        let standing = ShareRelation(of: row.user, contact: contact, secret: row.secret, in: row.state, owner: "_ada")
        #expect("\(standing)".hasPrefix(row.status))
        let accepted = row.state.accepted(by: row.user, as: standing, id: "new", at: Self.now)
        switch row.accepted {
        case .success(nil): #expect(accepted == .success(nil))
        case .success(let permission?):
            guard case .success(let state?) = accepted else {
                Issue.record("\(accepted)")
                return
            }
            #expect(state.access(of: row.user) == ShareAccess(permission))
            #expect(
                state.accepted(by: row.user, as: ShareRelation(of: row.user, contact: contact, in: state, owner: "_ada"), id: "x", at: Self.now)
                    == .success(nil))
            #expect(state.without(row.user, secret: { "drawn" }).access(of: row.user) == nil)
        case .failure(let error): #expect(accepted == .failure(error))
        }
    }

    @Test func `an error about an address that is not verified names the way that is open on the server, and other errors stay`() {
        for error in [ServerError.participantMayNeedVerification, .requestNeedsContact] {
            #expect(error.namingVerification(sendsMail: false).remedy?.contains("nacre user verify") == true)
            let mailed = error.namingVerification(sendsMail: true)
            #expect(mailed.remedy?.contains("/account/1/verify-email") == true && mailed.remedy?.contains("nacre user verify") == false)
            #expect(mailed.nativeCode == error.nativeCode && mailed.reason == error.reason)
        }
        #expect(ServerError.notInvited.namingVerification(sendsMail: true) == .notInvited)
    }

    @Test func `who is invited by two of their addresses is told which, and nobody is told of another's`() {
        let state = Self.state(.none, [Self.mailed, Self.texted, Self.once])
        func matches(_ contact: ShareContact?, _ secret: String? = nil, in state: ShareState) -> [String] {
            let standing = ShareRelation(of: "_ben", contact: contact, secret: secret, in: state, owner: "_ada")
            return state.potentialMatches(of: contact, as: standing).map(\.participantID)
        }
        let both = ShareContact(email: "ben@example.com", isEmailVerified: true, phone: "+49301234567")
        #expect(matches(both, in: state) == ["m", "t"])
        #expect(matches(ShareContact(email: "ben@example.com", isEmailVerified: false, phone: "+49301234567"), in: state).isEmpty)
        #expect(matches(ShareContact(email: "ben@example.com", isEmailVerified: true, phone: nil), in: state).isEmpty)
        #expect(matches(ShareContact(email: "eve@example.com", isEmailVerified: true, phone: "+49301234567"), in: state).isEmpty)
        #expect(matches(nil, in: state).isEmpty && matches(both, "secret", in: state).isEmpty)
        #expect(matches(both, in: Self.state(.none, [Self.ben, Self.mailed, Self.texted])).isEmpty, "who takes part already")
    }

    // MARK: Who sees whom

    @Test func `owner and administrators see all participants, others who has accepted and themselves, and no stranger's address`() {
        let state = Self.state(.none, [Self.ben, Self.cleo, Self.dora, Self.eve, Self.mailed])
        let everybody = ["_ada", "_ben", "_cleo", "_dora", "_eve", "mail"]
        let seen: [(String?, [String])] = [
            ("_ada", everybody), ("_eve", everybody), ("_ben", ["_ada", "_ben", "_dora", "_eve"]), ("_cleo", ["_ada", "_cleo"]),
            ("_stranger", ["_ada"]),
            (nil, ["_ada"]),
        ]
        for (user, expected) in seen {
            let details = state.details(for: user, owner: "_ada")
            #expect(details.participants.map { $0.identity.userRecordName ?? "mail" } == expected, "\(user ?? "nobody")")
            let infos = details.participants.filter { $0.identity.lookupInfo != nil }.map { $0.identity.userRecordName ?? "mail" }
            // Dora is a public user of a closed share: a non-participant, who still sees herself alone.
            #expect(infos == (expected == everybody ? Array(everybody.dropFirst()) : expected.filter { $0 == user }), "\(user ?? "nobody")")
            #expect(details.currentUserParticipant?.identity.userRecordName == (expected.contains(user ?? "") ? user : nil))
            #expect(details.owner.role == .owner)
        }
    }

    @Test func `owner and administrators see a one-time URL's secret, and nobody else does, nor who has claimed it`() {
        for participant in [Self.once, Self.claimed] {
            let state = Self.state(.none, [participant, Self.eve, Self.participant("_dora")])
            for user in ["_ada", "_eve"] {
                let shown = state.details(for: user, owner: "_ada").participants[1]
                #expect(
                    shown.isOneTime && shown.oneTimeSecret == "secret" && shown.identity.lookupInfo == nil && shown.identity.nameComponents == nil)
            }
            for user in ["_ben", "_dora", "_stranger", nil] {
                let shown = state.details(for: user, owner: "_ada")
                let all = shown.participants + [shown.owner] + [shown.currentUserParticipant].compactMap(\.self)
                #expect(all.allSatisfy { !$0.isOneTime && $0.oneTimeSecret == nil }, "\(user ?? "nobody")")
            }
        }
    }

    @Test func `when somebody came is shown to owner and administrators, and to themselves`() throws {
        let state = try ShareState.next(
            ShareChange(participants: [Self.invite("_ben"), Self.invite("_cleo")]), over: Self.state(.none, [Self.eve]), guid: "guid", by: Self.owner,
            at: Self.now, secret: { "drawn" }
        ).get()
        func added(_ user: String) -> [Timestamp?] { state.details(for: user, owner: "_ada").participants.map(\.added) }
        #expect(added("_ada") == [nil, Self.now, Self.now] && added("_ben") == [nil, Self.now], "Eve went, and the owner was always there")
        let visitor = try Self.state(.readOnly, [Self.ben]).accepted(by: "_dora", as: .visitor, id: "x", at: Self.now).get()
        #expect(visitor?.details(for: "_dora", owner: "_ada").participants.map(\.added) == [nil, nil, Self.now])
    }

    // MARK: Keeping

    @Test func `a share comes back from its bytes, and bytes that are cut are none`() throws {
        var dated = Self.once
        dated.added = Self.now
        let all = [Self.ben, Self.cleo, Self.dora, Self.eve, Self.mailed, Self.once, Self.claimed, dated]
        var asked = Self.state(.none, [Self.ben])
        asked.participants[0].isApprovedRequester = true
        asked.allowsAccessRequests = true
        asked.requesters = [
            ParticipantIdentity(
                userRecordName: "_eve", nameComponents: NameComponents(familyName: "Ng"), lookupInfo: .emailAddress("eve@example.com")),
            ParticipantIdentity(userRecordName: "_fay", lookupInfo: .phoneNumber("+49301234567")),
        ]
        asked.blocked = [asked.requesters[1]]
        for state in [Self.state(.readWrite, all), Self.state(.none, []), asked] {
            var writer = ByteWriter()
            state.write(to: &writer)
            var reader = ByteReader(writer.bytes)
            #expect(try ShareState(&reader) == state && reader.isAtEnd)
            for count in 0..<writer.bytes.count {
                #expect(throws: MalformedBytes.self) {
                    var reader = ByteReader(Array(writer.bytes.prefix(count)))
                    _ = try ShareState(&reader)
                }
            }
        }
    }
}
