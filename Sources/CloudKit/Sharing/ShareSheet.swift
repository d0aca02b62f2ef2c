import Foundation
import NacreCloudWire

/// What a share holds beside a record's fields, as a value but for its participants, which are the app's objects.
struct ShareSheet: Sendable {
    /// nil before the first save.
    var url: URL?
    var publicPermission: CKShare.ParticipantPermission = .none
    /// The owner first.
    var participants: [CKShareParticipant]
    var owner: CKShareParticipant
    var currentUserParticipant: CKShareParticipant?
    /// Who is not invited may ask to be.
    var allowsAccessRequests = false
    /// Who has asked, and who may not any more.
    private(set) var requesters: [ParticipantIdentity] = []
    private(set) var blockedIdentities: [ParticipantIdentity] = []
    /// What the server had when it was last seen; nil: it has none.
    private(set) var fetched: ShareChange?
    /// The root of the hierarchy that is shared; nil: the whole zone is.
    private(set) var rootName: String?

    init(
        url: URL?, publicPermission: CKShare.ParticipantPermission, participants: [CKShareParticipant], owner: CKShareParticipant,
        currentUserParticipant: CKShareParticipant?, allowsAccessRequests: Bool, requesters: [ParticipantIdentity],
        blockedIdentities: [ParticipantIdentity], fetched: ShareChange?, rootName: String?
    ) {
        self.url = url
        self.publicPermission = publicPermission
        self.participants = participants
        self.owner = owner
        self.currentUserParticipant = currentUserParticipant
        self.allowsAccessRequests = allowsAccessRequests
        self.requesters = requesters
        self.blockedIdentities = blockedIdentities
        self.fetched = fetched
        self.rootName = rootName
    }

    /// Of a share that the server does not know yet: its owner is who makes it.
    init(rootName: String?) {
        let own = CKUserIdentity(
            userRecordID: CKRecord.ID(recordName: CKCurrentUserDefaultName), lookupInfo: nil, nameComponents: nil, hasiCloudAccount: true)
        owner = CKShareParticipant(
            participantID: UUID().uuidString, userIdentity: own, role: .owner, permission: .readWrite, acceptanceStatus: .accepted)
        participants = [owner]
        currentUserParticipant = owner
        self.rootName = rootName
    }

    /// - Parameter server: under which the share's URL is; nil where it is not known.
    init(_ details: ShareDetails, server: URL?) {
        url = server.flatMap { ShareURL.url(of: details.shortGUID, server: $0) }
        publicPermission = CKShare.ParticipantPermission(details.publicPermission)
        owner = CKShareParticipant(wire: details.owner)
        participants = details.participants.map(CKShareParticipant.init(wire:))
        currentUserParticipant = details.currentUserParticipant.map(CKShareParticipant.init(wire:))
        allowsAccessRequests = details.allowsAccessRequests
        requesters = details.requesters
        blockedIdentities = details.blockedIdentities
        fetched = whole
    }

    /// The same with participants of its own.
    var copy: ShareSheet {
        var sheet = self
        sheet.participants = participants.map { $0.duplicate() }
        return sheet
    }

    private var whole: ShareChange {
        ShareChange(
            publicPermission: publicPermission.wire, participants: participants.map(\.wire), forRecord: rootName,
            allowsAccessRequests: allowsAccessRequests, requesters: requesters, blockedIdentities: blockedIdentities)
    }

    /// What a save asks for; nil: nothing has changed.
    func change(policy: SavePolicy) -> ShareChange? {
        let whole = whole
        guard let fetched, policy != .allKeys else { return whole }
        var change = ShareChange()
        if whole.publicPermission != fetched.publicPermission { change.publicPermission = whole.publicPermission }
        if whole.participants != fetched.participants { change.participants = whole.participants }
        if whole.allowsAccessRequests != fetched.allowsAccessRequests { change.allowsAccessRequests = whole.allowsAccessRequests }
        if whole.requesters != fetched.requesters { change.requesters = whole.requesters }
        if whole.blockedIdentities != fetched.blockedIdentities { change.blockedIdentities = whole.blockedIdentities }
        return change.isEmpty ? nil : change
    }

    /// After a save: becomes the server's version, unless it was changed since the save was sent.
    mutating func adopt(_ saved: ShareDetails, sent: ShareChange?, server: URL?, policy: SavePolicy = .ifServerRecordUnchanged) {
        let fresh = ShareSheet(saved, server: server)
        let now = change(policy: policy)
        if now == sent || now == nil {
            self = fresh
        } else {
            (url, owner, currentUserParticipant, fetched) = (fresh.url, fresh.owner, fresh.currentUserParticipant, fresh.fetched)
        }
    }

    func oneTimeURL(for participantID: String) -> URL? {
        guard let url, let secret = participants.first(where: { $0.participantID == participantID })?.oneTimeSecret else { return nil }
        return url.deletingLastPathComponent().appendingPathComponent(ShareKey(shortGUID: url.lastPathComponent, secret: secret).text)
    }

    // MARK: What an app changes

    /// CloudKit: to open a share to everybody takes back its invitations; to close it takes everybody out.
    mutating func setPublicPermission(_ permission: CKShare.ParticipantPermission) {
        publicPermission = permission
        let isOpen = permission != .none
        participants.removeAll { $0.role != .owner && (isOpen ? $0.acceptanceStatus == .pending : true) }
    }

    /// CloudKit: somebody who is there already gets the new one's permission and role.
    mutating func add(_ participant: CKShareParticipant) throws(ValueFault.Reason) {
        if publicPermission != .none { throw .participantOfPublicShare }
        guard let known = participants.first(where: { $0.isSame(as: participant) }) else {
            participants.append(participant)
            return
        }
        if known.role == .owner { throw .shareOwner }
        (known.role, known.permission) = (participant.role, participant.permission)
    }

    mutating func remove(_ participant: CKShareParticipant) throws(ValueFault.Reason) {
        guard let place = participants.firstIndex(where: { $0.isSame(as: participant) }) else { throw .participantNotThere }
        if participants[place].role == .owner { throw .shareOwner }
        participants.remove(at: place)
    }

    /// CloudKit: the owner and administrators decide over requests for access.
    var isDecidedByCurrentUser: Bool { currentUserParticipant.map { $0.role == .owner || $0.role == .administrator } ?? false }

    mutating func deny(_ denied: [ParticipantIdentity]) {
        requesters.removeAll { one in denied.contains { $0.userRecordName == one.userRecordName } }
    }

    /// CloudKit: takes those out, too, who take part already.
    mutating func block(_ some: [ParticipantIdentity]) {
        let blocked = requesters.filter { one in some.contains { $0.userRecordName == one.userRecordName } }
        deny(blocked)
        blockedIdentities += blocked
        participants.removeAll { participant in
            let identity = participant.userIdentity.asParticipant
            return participant.role != .owner
                && blocked.contains { $0.userRecordName == identity.userRecordName || $0.lookupInfo == identity.lookupInfo }
        }
    }

    mutating func unblock(_ some: [ParticipantIdentity]) {
        blockedIdentities.removeAll { one in some.contains { $0.userRecordName == one.userRecordName } }
    }
}

/// The URL by which a share is opened: `{server}/share/{short GUID}#{title}`, and of a one-time URL what `ShareKey` makes of the short GUID.
enum ShareURL {
    private static let folder = "share"

    static func url(of shortGUID: String, server: URL) -> URL? {
        server.appendingPathComponent(folder).appendingPathComponent(shortGUID)
    }

    /// The same with a title, which names nothing and is sent to no server.
    static func titled(_ url: URL, _ title: String?) -> URL {
        guard let title, !title.isEmpty, var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        parts.fragment = title
        return parts.url ?? url
    }

    /// nil for a URL that is no share's. Its fragment is the title, and names nothing.
    static func shortGUID(in url: URL) -> String? {
        let parts = url.pathComponents
        guard parts.count >= 2, parts[parts.count - 2] == folder, let guid = parts.last, Names.isName(guid) else { return nil }
        return guid
    }

    /// The URLs that are shares', each once and with its name, and those that are none's.
    static func sorted(_ urls: [URL]?) -> (shares: [(url: URL, guid: String)], others: [URL]) {
        var seen: Set<URL> = []
        var (shares, others): ([(url: URL, guid: String)], [URL]) = ([], [])
        for url in urls ?? [] where seen.insert(url).inserted {
            if let guid = shortGUID(in: url) { shares.append((url, guid)) } else { others.append(url) }
        }
        return (shares, others)
    }
}
