extension ParticipantIdentity {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userRecordName": userRecordName = try reader.optionalString()
            case "nameComponents": nameComponents = try reader.takeNull() ? nil : try NameComponents(from: &reader)
            case "lookupInfo": lookupInfo = try reader.takeNull() ? nil : try UserLookupInfo.Draft(from: &reader).only
            default: try reader.skip()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write(ifPresent: "userRecordName", userRecordName)
        if let nameComponents {
            writer.key("nameComponents")
            writer.beginObject()
            writer.write(ifPresent: "givenName", nameComponents.givenName)
            writer.write(ifPresent: "familyName", nameComponents.familyName)
            writer.endObject()
        }
        if let lookupInfo {
            writer.key("lookupInfo")
            lookupInfo.write(to: &writer)
        }
        writer.endObject()
    }
}

extension ShareParticipant {
    /// Reads a participant. Clients send back what they got, or a new participant as CloudKit's reference prints it;
    /// missing members have CloudKit's defaults.
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init(identity: ParticipantIdentity())
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try reader.takeNull() { continue }
            switch key {
            case "participantId": participantID = try reader.string()
            case "userIdentity": identity = try ParticipantIdentity(from: &reader)
            case "type": role = try reader.name(of: ParticipantRole.self)
            case "permission": permission = try reader.name(of: SharePermission.self)
            case "acceptanceStatus": acceptance = try reader.name(of: SpelledAcceptance.self).value
            case "isApprovedRequester": isApprovedRequester = try reader.optionalBoolean() ?? false
            case "nacre": try readExtension(from: &reader)
            default: try reader.skip()
            }
        }
    }

    private mutating func readExtension(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "oneTime": isOneTime = try reader.optionalBoolean() ?? false
            case "oneTimeSecret": oneTimeSecret = try reader.optionalString()
            case "added": added = try reader.optionalDouble().map { Timestamp(secondsSince2001: $0) }
            default: try reader.skip()
            }
        }
    }

    /// Writes the participant.
    /// - Parameter details: Whether our additions are written.
    package func write(to writer: inout JSONWriter, details: Bool) {
        writer.beginObject()
        writer.write(ifPresent: "participantId", participantID)
        writer.key("userIdentity")
        identity.write(to: &writer)
        writer.write("type", role.rawValue)
        writer.write("permission", permission.rawValue)
        writer.write("acceptanceStatus", acceptance.rawValue)
        if isApprovedRequester { writer.write("isApprovedRequester", true) }
        if details, isOneTime || oneTimeSecret != nil || added != nil {
            writer.key("nacre")
            writer.beginObject()
            if isOneTime { writer.write("oneTime", true) }
            writer.write(ifPresent: "oneTimeSecret", oneTimeSecret)
            if let added { writer.write("added", added.secondsSince2001) }
            writer.endObject()
        }
        writer.endObject()
    }
}

/// An acceptance in all its spellings.
private enum SpelledAcceptance: String {
    case invited = "INVITED"
    case pending = "PENDING"
    case accepted = "ACCEPTED"
    case removed = "REMOVED"
    case unknown = "UNKNOWN"

    var value: ParticipantAcceptance {
        switch self {
        case .invited, .pending: .invited
        case .accepted: .accepted
        case .removed: .removed
        case .unknown: .unknown
        }
    }
}

/// The members of a record's dictionary that only shares have, collected in any order.
struct ShareDraft {
    private var shortGUID: String?
    private var publicPermission: SharePermission?
    private var participants: [ShareParticipant]?
    private var owner: ShareParticipant?
    private var currentUserParticipant: ShareParticipant?

    /// Reads a member if it is one of a share's.
    /// - Returns: Whether it was.
    mutating func take(_ key: JSONText, from reader: inout JSONReader) throws(JSONError) -> Bool {
        switch key {
        case "shortGUID": shortGUID = try reader.optionalString()
        case "publicPermission": publicPermission = try reader.takeNull() ? nil : try reader.name(of: SharePermission.self)
        case "participants":
            participants =
                try reader.takeNull()
                ? nil : try reader.array { reader throws(JSONError) in try ShareParticipant(from: &reader) }
        case "owner": owner = try reader.takeNull() ? nil : try ShareParticipant(from: &reader)
        case "currentUserParticipant": currentUserParticipant = try reader.takeNull() ? nil : try ShareParticipant(from: &reader)
        default: return false
        }
        return true
    }

    /// Returns the share's details; nil for a record that is not a share.
    func details(_ extension: ItemExtension) -> Box<ShareDetails>? {
        guard let shortGUID, let publicPermission, let participants, let owner else { return nil }
        return Box(
            ShareDetails(
                shortGUID: shortGUID, publicPermission: publicPermission, participants: participants, owner: owner,
                currentUserParticipant: currentUserParticipant, allowsAccessRequests: `extension`.allowsAccessRequests,
                requesters: `extension`.requesters, blockedIdentities: `extension`.blockedIdentities))
    }
}

extension JSONReader {
    package mutating func optionalIdentities() throws(JSONError) -> [ParticipantIdentity]? {
        try takeNull() ? nil : try array { reader throws(JSONError) in try ParticipantIdentity(from: &reader) }
    }
}

extension ShareChange {
    func writeMembers(to writer: inout JSONWriter) {
        writer.write(ifPresent: "publicPermission", publicPermission?.rawValue)
        if let participants { writer.write("participants", participants) { $1.write(to: &$0, details: true) } }
        if let forRecord {
            writer.key("forRecord")
            writer.beginObject()
            writer.write("recordName", forRecord)
            writer.endObject()
        }
    }

    var hasExtension: Bool { allowsAccessRequests != nil || requesters != nil || blockedIdentities != nil }

    /// Writes the members of the record's object `nacre`.
    func writeExtension(to writer: inout JSONWriter) {
        if let allowsAccessRequests { writer.write("allowsAccessRequests", allowsAccessRequests) }
        if let requesters { writer.write("requesters", requesters) { $1.write(to: &$0) } }
        if let blockedIdentities { writer.write("blockedIdentities", blockedIdentities) { $1.write(to: &$0) } }
    }
}

extension SharesRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("shortGUIDs", shortGUIDs) { writer, item in
            writer.beginObject()
            writer.write("value", item.value)
            writer.write("shouldFetchRootRecord", item.shouldFetchRootRecord)
            writer.write(ifPresent: "rootRecordDesiredKeys", item.rootRecordDesiredKeys)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension SharesResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var results: [Result]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "results": results = try reader.array { reader throws(JSONError) in try Result(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(results: try reader.require(results, "results", at: start))
    }
}

extension SharesResponse.Result {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (guid, container, scope, environment) = (String?.none, String?.none, String?.none, String?.none)
        var (zoneID, share, owner) = (ZoneID?.none, Record?.none, UserIdentity?.none)
        var (permission, status, role) = (SharePermission.unknown, ParticipantAcceptance.unknown, ParticipantRole.unknown)
        var (error, details) = (ErrorDraft(), ItemExtension())
        var (rootName, root, webpage) = (String?.none, Record?.none, String?.none)
        var matches: [ShareMetadata.PotentialMatch] = []
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "shortGUID": guid = try reader.shortGUID()
            case "containerIdentifier": container = try reader.optionalString()
            case "databaseScope": scope = try reader.optionalString()
            case "environment": environment = try reader.optionalString()
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "share": share = try reader.takeNull() ? nil : try Record(from: &reader)
            case "ownerIdentity": owner = try reader.takeNull() ? nil : try UserIdentity(from: &reader)
            case "participantPermission": permission = try reader.name(of: SharePermission.self)
            case "participantStatus": status = try reader.name(of: SpelledAcceptance.self).value
            case "participantType": role = try reader.name(of: ParticipantRole.self)
            case "potentialMatchList":
                matches =
                    try reader.takeNull()
                    ? [] : try reader.array { reader throws(JSONError) in try ShareMetadata.PotentialMatch(from: &reader) }
            case "rootRecordName": rootName = try reader.optionalString()
            case "rootRecord": root = try reader.takeNull() ? nil : try Record(from: &reader)
            case "webpageURL": webpage = try reader.optionalString()
            case "nacre": details = try ItemExtension(from: &reader)
            default:
                if try error.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        let value = try reader.require(guid, "shortGUID", at: start)
        if let error = error.error(details) {
            self = .failure(shortGUID: value, error)
            return
        }
        self = .share(
            ShareMetadata(
                shortGUID: value, containerIdentifier: try reader.require(container, "containerIdentifier", at: start),
                databaseScope: try reader.require(scope, "databaseScope", at: start),
                environment: try reader.require(environment, "environment", at: start), zoneID: try reader.require(zoneID, "zoneID", at: start),
                share: try reader.require(share, "share", at: start), ownerIdentity: try reader.require(owner, "ownerIdentity", at: start),
                participantPermission: permission, participantStatus: status, participantType: role, rootRecordName: rootName, rootRecord: root,
                webpageURL: webpage, potentialMatches: matches))
    }
}

extension ShareMetadata.PotentialMatch {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (id, contact) = (String?.none, UserLookupInfo?.none)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "participantId": id = try reader.optionalString()
            case "contactInformation": contact = try reader.takeNull() ? nil : try UserLookupInfo.Draft(from: &reader).only
            default: try reader.skip()
            }
        }
        self.init(
            participantID: try reader.require(id, "participantId", at: start), contact: try reader.require(contact, "contactInformation", at: start))
    }
}

extension JSONReader {
    /// Reads a short GUID. CloudKit's reference prints a dictionary; a plain string is read too.
    fileprivate mutating func shortGUID() throws(JSONError) -> String? {
        guard try kind() == .object else { return try optionalString() }
        var value: String?
        try beginObject()
        while let key = try nextKey() {
            switch key {
            case "value": value = try optionalString()
            default: try skip()
            }
        }
        return value
    }
}

extension AccessRequestsResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var results: [Result]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "results": results = try reader.array { reader throws(JSONError) in try Result(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(results: try reader.require(results, "results", at: start))
    }
}

extension AccessRequestsResponse.Result {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var guid: String?
        var (error, details) = (ErrorDraft(), ItemExtension())
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "shortGUID": guid = try reader.shortGUID()
            case "nacre": details = try ItemExtension(from: &reader)
            default:
                if try error.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        self.init(shortGUID: try reader.require(guid, "shortGUID", at: start), error: error.error(details))
    }
}
