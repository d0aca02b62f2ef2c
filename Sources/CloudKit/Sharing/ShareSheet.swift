import Foundation
import NacreCloudWire

/// The data of a share beside its record's fields. A value, except that its participants are the app's objects.
struct ShareSheet: Sendable {
    /// The share's URL; nil before the first save.
    var url: URL?
    var publicPermission: CKShare.ParticipantPermission = .none
    /// The participants, the owner first.
    var participants: [CKShareParticipant]
    /// The owner and the current user: the objects in `participants`, if they are in it.
    private(set) var owner: CKShareParticipant
    private(set) var currentUserParticipant: CKShareParticipant?
    /// The secrets of the share's links, as this device has opened them. No archive and no request has them.
    var links = ShareLinks()
    /// Whether people who are not invited may ask for access.
    var allowsAccessRequests = false
    /// The users who asked for access, and the blocked ones.
    private(set) var requesters: [ParticipantIdentity] = []
    private(set) var blockedIdentities: [ParticipantIdentity] = []
    /// The server's values when they were last seen; nil if the server has none.
    private(set) var fetched: ShareChange?
    /// The IDs of participants whom the app has added, new or not, since the share was fetched.
    private(set) var added: Set<String> = []
    /// The record name of the hierarchy's root; nil if the whole zone is shared.
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
        findInList()
    }

    /// Makes the data of a share that the server does not know yet. The current user is its owner.
    init(rootName: String?) {
        let own = CKUserIdentity(
            userRecordID: CKRecord.ID(recordName: CKCurrentUserDefaultName), lookupInfo: nil, nameComponents: nil, hasiCloudAccount: true)
        owner = CKShareParticipant(
            participantID: UUID().uuidString, userIdentity: own, role: .owner, permission: .readWrite, acceptanceStatus: .accepted)
        participants = [owner]
        currentUserParticipant = owner
        self.rootName = rootName
    }

    /// - Parameter server: the server's URL, with which the share's URL begins; nil if it is not known.
    init(_ details: ShareDetails, server: URL?) {
        url = server.flatMap { ShareURL.url(of: details.shortGUID, server: $0) }
        publicPermission = CKShare.ParticipantPermission(details.publicPermission)
        owner = CKShareParticipant(wire: details.owner)
        participants = details.participants.map(CKShareParticipant.init(wire:))
        currentUserParticipant = details.currentUserParticipant.map(CKShareParticipant.init(wire:))
        allowsAccessRequests = details.allowsAccessRequests
        requesters = details.requesters
        blockedIdentities = details.blockedIdentities
        findInList()
        fetched = whole
    }

    /// A copy with copies of the participants.
    var copy: ShareSheet {
        var sheet = self
        sheet.participants = participants.map { $0.duplicate() }
        (sheet.owner, sheet.currentUserParticipant) = (owner.duplicate(), currentUserParticipant?.duplicate())
        sheet.findInList()
        return sheet
    }

    /// Replaces the owner and the current user by their objects in the list, so that a change to one of these shows in
    /// the others.
    private mutating func findInList() {
        func listed(_ one: CKShareParticipant) -> CKShareParticipant { participants.first { $0.participantID == one.participantID } ?? one }
        owner = listed(owner)
        currentUserParticipant = currentUserParticipant.map(listed)
    }

    private var whole: ShareChange {
        ShareChange(
            publicPermission: publicPermission.wire, participants: participants.map(\.wire), forRecord: rootName,
            allowsAccessRequests: allowsAccessRequests, requesters: requesters, blockedIdentities: blockedIdentities)
    }

    /// Returns the changes that a save sends; nil if nothing has changed.
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

    /// Adopts the server's version after a save, and keeps changes that were made since the save was sent.
    mutating func adopt(_ saved: ShareDetails, sent: ShareChange?, server: URL?, policy: SavePolicy = .ifServerRecordUnchanged) {
        var fresh = ShareSheet(saved, server: server)
        fresh.links = links
        let now = change(policy: policy)
        if now == sent || now == nil {
            self = fresh
        } else {
            (url, owner, currentUserParticipant, fetched) = (fresh.url, fresh.owner, fresh.currentUserParticipant, fresh.fetched)
            findInList()
        }
    }

    func oneTimeURL(for participantID: String) -> URL? {
        guard let url, let secret = participants.first(where: { $0.participantID == participantID })?.oneTimeSecret else { return nil }
        let own = url.deletingLastPathComponent().appendingPathComponent(ShareKey(shortGUID: url.lastPathComponent, secret: secret).text)
        return ShareURL.titled(own, nil, link: links.texts[participantID])
    }

    // MARK: Changes by the app

    /// Sets the public permission. CloudKit: opening a share withdraws its pending invitations; closing it removes all
    /// participants except the owner.
    mutating func setPublicPermission(_ permission: CKShare.ParticipantPermission) {
        publicPermission = permission
        let isOpen = permission != .none
        participants.removeAll { $0.role != .owner && (isOpen ? $0.acceptanceStatus == .pending : true) }
    }

    /// Adds a participant. CloudKit: a participant who is in the share already gets the new permission and role.
    mutating func add(_ participant: CKShareParticipant) throws(ValueFault.Reason) {
        if publicPermission != .none { throw .participantOfPublicShare }
        guard let known = participants.first(where: { $0.isSame(as: participant) }) else {
            participants.append(participant)
            added.insert(participant.participantID)
            return
        }
        if known.role == .owner { throw .shareOwner }
        added.insert(known.participantID)
        (known.role, known.permission) = (participant.role, participant.permission)
    }

    mutating func remove(_ participant: CKShareParticipant) throws(ValueFault.Reason) {
        guard let index = participants.firstIndex(where: { $0.isSame(as: participant) }) else { throw .participantNotThere }
        if participants[index].role == .owner { throw .shareOwner }
        participants.remove(at: index)
    }

    /// Whether the current user may decide over requests for access. CloudKit: the owner and administrators may.
    var isDecidedByCurrentUser: Bool { currentUserParticipant.map { $0.role == .owner || $0.role == .administrator } ?? false }

    mutating func deny(_ denied: [ParticipantIdentity]) {
        requesters.removeAll { one in denied.contains { $0.userRecordName == one.userRecordName } }
    }

    /// Blocks users. CloudKit: those who take part already are removed too.
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

/// The secrets of a share's links by their names, each as 64 hexadecimal digits: the ID of the participant of a
/// one-time link, and nothing for the share's own. Never printed.
struct ShareLinks: CustomStringConvertible, CustomReflectable, Sendable {
    var texts: [String: String] = [:]
    var description: String { "(secret)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The form of a share's URL: `{server}/share/{short GUID}#{title}~1{secret of the link}`, each of the last two only if
/// there is one. In a one-time URL, the text of a `ShareKey` replaces the short GUID.
enum ShareURL {
    private static let folder = "share"

    static func url(of shortGUID: String, server: URL) -> URL? {
        server.appendingPathComponent(folder).appendingPathComponent(shortGUID)
    }

    /// Stands between title and secret. The digit is the version of this form.
    private static let linkMark = "~1"
    private static let linkDigits = 64

    /// Returns the URL with a title and the secret of its link as its fragment, which is sent to no server.
    static func titled(_ url: URL, _ title: String?, link: String? = nil) -> URL {
        let fragment = (title ?? "") + (link.map { linkMark + $0 } ?? "")
        guard !fragment.isEmpty, var parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return url }
        parts.fragment = fragment
        return parts.url ?? url
    }

    /// Returns the secret of the link in a share's URL, 64 hexadecimal digits; nil: it has none.
    static func link(in url: URL) -> String? {
        guard let fragment = URLComponents(url: url, resolvingAgainstBaseURL: false)?.fragment else { return nil }
        let digits = fragment.suffix(linkDigits)
        guard digits.utf8.count == linkDigits, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }), fragment.dropLast(linkDigits).hasSuffix(linkMark)
        else { return nil }
        return String(digits)
    }

    /// Whether a URL is of a share in iCloud, which only Apple's CloudKit opens.
    static func isOfICloud(_ url: URL) -> Bool {
        let host = url.host?.lowercased() ?? ""
        return host == "icloud.com" || host.hasSuffix(".icloud.com")
    }

    /// Returns the short GUID in a share's URL; nil for any other URL, also for that of a share in iCloud. The
    /// fragment is ignored.
    static func shortGUID(in url: URL) -> String? {
        let parts = url.pathComponents
        guard !isOfICloud(url), parts.count >= 2, parts[parts.count - 2] == folder, let guid = parts.last, Names.isName(guid) else { return nil }
        return guid
    }

    /// Splits URLs into those of shares, each once and with its short GUID, and others.
    static func sorted(_ urls: [URL]?) -> (shares: [(url: URL, guid: String)], others: [URL]) {
        var seen: Set<URL> = []
        var (shares, others): ([(url: URL, guid: String)], [URL]) = ([], [])
        for url in urls ?? [] where seen.insert(url).inserted {
            if let guid = shortGUID(in: url) { shares.append((url, guid)) } else { others.append(url) }
        }
        return (shares, others)
    }
}
