import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

/// Tests of one-time URLs as tables: when they change, and how several places of a user in a share are joined.
/// docs/decisions/shares.md.
@Suite struct OneTimeURLRuleTests {
    private typealias Participant = ShareState.Participant
    private static let now = Timestamp(secondsSince2001: 7)

    private static func member(
        _ name: String, _ role: ParticipantRole = .privateUser, _ permission: SharePermission = .readOnly, accepted: Bool = true
    ) -> Participant {
        .init(id: "id" + name, user: name, invitation: .userRecordName(name), role: role, permission: permission, isAccepted: accepted)
    }

    private static func seat(_ id: String, _ role: ParticipantRole = .privateUser, _ permission: SharePermission = .readWrite) -> Participant {
        .init(id: id, user: nil, invitation: nil, role: role, permission: permission, isAccepted: false, oneTimeSecret: "old" + id)
    }

    private static func state(_ participants: [Participant]) -> ShareState {
        ShareState(shortGUID: "guid", publicPermission: .none, participants: participants)
    }

    private static func listed(_ participants: [Participant]) -> ShareChange {
        ShareChange(
            participants: participants.map {
                ShareParticipant(
                    participantID: $0.id, identity: ParticipantIdentity(userRecordName: $0.user, lookupInfo: $0.invitation), role: $0.role,
                    permission: $0.permission, acceptance: $0.isAccepted ? .accepted : .invited, isOneTime: $0.oneTimeSecret != nil)
            })
    }

    // MARK: When a secret changes

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var before: ShareState
        var change: ShareChange
        var judge = ShareEditor.owner("_ada")
        /// The participants whose URLs change.
        var changed: [String]
    }

    private static let eve = member("_eve", .administrator, .readWrite)
    private static let gus = member("_gus", .administrator)
    private static let ben = member("_ben")
    private static let (guest, chief) = (seat("guest"), seat("chief", .administrator))
    private static let claimed = Participant(
        id: "used", user: "_fay", invitation: nil, role: .privateUser, permission: .readOnly, isAccepted: true, oneTimeSecret: "oldused")
    private static let all = [eve, gus, ben, guest, chief, claimed]

    private static var asking: ShareState {
        var state = state(all)
        state.requesters = [ParticipantIdentity(userRecordName: "_gus", lookupInfo: .emailAddress("gus@example.com"))]
        return state
    }

    static let rows: [Row] = [
        .init(testDescription: "nothing is said", before: state(all), change: ShareChange(), changed: []),
        .init(testDescription: "everybody stays", before: state(all), change: listed(all), changed: []),
        .init(testDescription: "a guest goes", before: state(all), change: listed([eve, gus, guest, chief, claimed]), changed: []),
        .init(
            testDescription: "an administrator goes: what only the owner reads stays, and what somebody has used",
            before: state(all), change: listed([eve, ben, guest, chief, claimed]), changed: ["guest"]),
        .init(
            testDescription: "an administrator becomes a guest", before: state(all),
            change: listed([eve, member("_gus"), ben, guest, chief, claimed]), changed: ["guest"]),
        .init(
            testDescription: "an administrator may see nothing any more", before: state(all),
            change: listed([eve, member("_gus", .administrator, .none), ben, guest, chief, claimed]), changed: ["guest"]),
        .init(
            testDescription: "an administrator is blocked",
            before: asking,
            change: ShareChange(blockedIdentities: [ParticipantIdentity(userRecordName: "_gus")]), changed: ["guest"]),
        .init(
            testDescription: "one who has not accepted has read nothing",
            before: state([member("_gus", .administrator, accepted: false), guest]), change: listed([guest]), changed: []),
        .init(
            testDescription: "nor has one who sees nothing", before: state([member("_gus", .administrator, .none), guest]), change: listed([guest]),
            changed: []),
        .init(
            testDescription: "a guest's URL becomes an administrator's, where administrators have read it", before: state(all),
            change: listed([eve, gus, ben, seat("guest", .administrator), chief, claimed]), changed: ["guest"]),
        .init(
            testDescription: "where there are none it stays", before: state([ben, guest]), change: listed([ben, seat("guest", .administrator)]),
            changed: []),
        .init(
            testDescription: "an administrator's URL becomes a guest's", before: state(all),
            change: listed([eve, gus, ben, guest, seat("chief"), claimed]), changed: []),
        .init(
            testDescription: "an administrator removes a guest", before: state([eve, ben, guest]), change: listed([eve, guest]),
            judge: .administrator(owner: "_ada"), changed: []),
    ]

    @Test(arguments: rows) func `a one-time URL changes when somebody has read it who does not read it any more`(row: Row) throws {
        let next = try ShareState.next(row.change, over: row.before, guid: "", by: row.judge, at: Self.now, secret: { "drawn" }).get()
        #expect(next.participants.filter { $0.oneTimeSecret == "drawn" }.map(\.id) == row.changed)
        #expect(next.participants.allSatisfy { $0.oneTimeSecret == nil || ["drawn", "old" + $0.id].contains($0.oneTimeSecret) })
    }

    @Test func `who leaves as an administrator leaves the URLs behind, and who leaves as a guest has read none`() {
        func secrets(without user: String) -> [String?] {
            Self.state(Self.all).without(user, secret: { "drawn" }).participants.map(\.oneTimeSecret).filter { $0 != nil }
        }
        #expect(secrets(without: "_ben") == ["oldguest", "oldchief", "oldused"])
        #expect(secrets(without: "_gus") == ["drawn", "oldchief", "oldused"])
        #expect(Self.state(Self.all).without("_gus", secret: { nil }).participants.count { $0.oneTimeSecret == "oldguest" } == 0)
    }

    // MARK: Several places of one user

    struct Places: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var email: String? = "ben@example.com"
        var isVerified = true
        var phone: String?
        var secret: String?
        var isBlocked = false
        var participants: [ShareState.Participant]
        /// The permission that Ben is offered; nil: he takes part already, and is shown his own.
        var told: SharePermission?
        /// The participants after he has accepted: ID, role, permission, and acceptance.
        var after: [String]
    }

    private static let named = member("_ben", accepted: false)
    private static func mailed(_ permission: SharePermission, _ role: ParticipantRole = .privateUser) -> Participant {
        .init(id: "mailed", user: nil, invitation: .emailAddress("ben@example.com"), role: role, permission: permission, isAccepted: false)
    }
    private static let texted = Participant(
        id: "texted", user: nil, invitation: .phoneNumber("+49301234567"), role: .privateUser, permission: .readWrite, isAccepted: false)

    static let places: [Places] = [
        .init(
            testDescription: "a one-time URL and an invitation by name: the better permission", secret: "oldguest", participants: [named, guest],
            told: .readWrite, after: ["guest USER READ_WRITE true"]),
        .init(
            testDescription: "the same where the invitation is the better one", secret: "oldguest",
            participants: [member("_ben", .privateUser, .readWrite, accepted: false), seat("guest", .privateUser, .readOnly)],
            told: .readWrite, after: ["guest USER READ_WRITE true"]),
        .init(
            testDescription: "by the share's own URL the one-time URL waits for somebody else", participants: [named, guest], told: .readOnly,
            after: ["id_ben USER READ_ONLY true", "guest USER READ_WRITE false"]),
        .init(
            testDescription: "who takes part already takes nothing by a one-time URL", secret: "oldguest", participants: [ben, guest],
            after: ["id_ben USER READ_ONLY true", "guest USER READ_WRITE false"]),
        .init(
            testDescription: "name, address and number", phone: "+49301234567", participants: [named, mailed(.readOnly), texted], told: .readWrite,
            after: ["id_ben USER READ_WRITE true"]),
        .init(
            testDescription: "an address that is not verified is nobody's", isVerified: false, participants: [named, mailed(.readWrite)],
            told: .readOnly, after: ["id_ben USER READ_ONLY true", "mailed USER READ_WRITE false"]),
        .init(
            testDescription: "another's address", email: "eve@example.com", participants: [named, mailed(.readWrite)], told: .readOnly,
            after: ["id_ben USER READ_ONLY true", "mailed USER READ_WRITE false"]),
        .init(
            testDescription: "who takes part already and is invited by address once more", participants: [ben, mailed(.readWrite)],
            after: ["id_ben USER READ_WRITE true"]),
        .init(
            testDescription: "nobody is worse off", participants: [member("_ben", .privateUser, .readWrite), mailed(.readOnly)],
            after: ["id_ben USER READ_WRITE true"]),
        .init(
            testDescription: "an administrator's place is better than any other, and what one may do the owner says alone",
            participants: [gus, named, mailed(.readOnly, .administrator), texted], told: .readOnly,
            after: ["id_gus ADMINISTRATOR READ_ONLY true", "id_ben ADMINISTRATOR READ_ONLY true", "texted USER READ_WRITE false"]),
        .init(
            testDescription: "no administrator raises themselves by another of their addresses",
            participants: [member("_ben", .administrator, .readOnly), mailed(.readWrite)], after: ["id_ben ADMINISTRATOR READ_ONLY true"]),
        .init(
            testDescription: "who is blocked has what they are invited to alone", secret: "oldguest", isBlocked: true, participants: [named, guest],
            told: .readOnly, after: ["id_ben USER READ_ONLY true", "guest USER READ_WRITE false"]),
    ]

    @Test(arguments: places) func `who has several places in a share has one once they accept`(row: Places) throws {
        var state = Self.state(row.participants)
        if row.isBlocked { state.blocked = [ParticipantIdentity(userRecordName: "_ben")] }
        let contact = row.email.map { ShareContact(email: $0, isEmailVerified: row.isVerified, phone: row.phone) }
        func standing(_ state: ShareState) -> ShareRelation {
            ShareRelation(of: "_ben", contact: contact, secret: row.secret, in: state, owner: "_ada")
        }
        if case .invited(let one, let beside) = standing(state) {
            #expect(one.joined(with: beside).permission == row.told)
        } else {
            #expect(row.told == nil)
        }
        let after = try state.accepted(by: "_ben", as: standing(state), id: "new", at: Self.now).get() ?? state
        #expect(after.participants.map { "\($0.id) \($0.role.rawValue) \($0.permission.rawValue) \($0.isAccepted)" } == row.after)
        #expect(after.participants.count { $0.user == "_ben" } == 1, "one place")
        #expect(try after.accepted(by: "_ben", as: standing(after), id: "more", at: Self.now).get() == nil, "once more changes nothing")
    }

    @Test func `who comes in asks no more`() throws {
        var state = Self.state([Self.guest])
        state.requesters = ["_ben", "_eve"].map { (name: String) in
            ParticipantIdentity(userRecordName: name, lookupInfo: .emailAddress(name + "@example.com"))
        }
        let standing = ShareRelation(of: "_ben", contact: nil, secret: "oldguest", in: state, owner: "_ada")
        let after = try state.accepted(by: "_ben", as: standing, id: "new", at: Self.now).get()
        #expect(after?.requesters.map(\.userRecordName) == ["_eve"])
    }

    @Test func `the one place says how its user was invited, and that they had asked`() throws {
        var asked = Self.mailed(.readOnly)
        (asked.user, asked.isApprovedRequester) = ("_ben", true)
        let state = Self.state([asked, Self.guest])
        let standing = ShareRelation(of: "_ben", contact: nil, secret: "oldguest", in: state, owner: "_ada")
        let one = try #require(try state.accepted(by: "_ben", as: standing, id: "new", at: Self.now).get()?.participants.first)
        #expect(one.id == "guest" && one.invitation == .emailAddress("ben@example.com") && one.isApprovedRequester && one.oneTimeSecret == "oldguest")
    }
}
