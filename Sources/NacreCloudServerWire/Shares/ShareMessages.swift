package import NacreCloudWire

extension SharesRequest: ReadableRequest {
    /// Reads a request. One short GUID may stand in place of an array of one.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var items: [Item]?
        self.init(shortGUIDs: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "shortGUIDs": items = try reader.arrayOrSingle { reader throws(JSONError) in try Item(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        shortGUIDs = try reader.require(items, "shortGUIDs", at: start)
    }
}

extension SharesRequest.Item {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var value: String?
        self.init(value: "")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "value": value = try reader.optionalString()
            case "shouldFetchRootRecord": shouldFetchRootRecord = try reader.optionalBoolean() ?? false
            case "rootRecordDesiredKeys": rootRecordDesiredKeys = try reader.optionalNames()
            default: try reader.skip()
            }
        }
        self.value = try reader.require(value, "value", at: start)
    }
}

extension SharePageRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zoneID: ZoneID?
        self.init(zoneID: .defaultZone)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "recordName": recordName = try reader.optionalString()
            case "shareTitle": title = try reader.optionalString()
            case "shareType": type = try reader.optionalString()
            case "supportedAccess": access = try reader.optionalNames()
            case "supportedPermissions": permissions = try reader.optionalNames()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.zoneID = try reader.require(zoneID, "zoneID", at: start)
    }
}

extension SharePageResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("url", url)
        writer.endObject()
    }
}

extension SharesResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("results", results) { $1.write(to: &$0, form: form) }
        writer.endObject()
    }
}

extension SharesResponse.Result {
    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.key("shortGUID")
        writer.beginObject()
        switch self {
        case .failure(let guid, let error):
            writer.write("value", guid)
            writer.endObject()
            error.writeMembers(to: &writer, form: form)
        case .share(let share):
            writer.write("value", share.shortGUID)
            writer.endObject()
            writer.write("containerIdentifier", share.containerIdentifier)
            writer.write("databaseScope", share.databaseScope)
            writer.write("environment", share.environment)
            writer.write("zoneID", share.zoneID, asAnswer: true)
            writer.key("share")
            share.share.write(to: &writer, form: form, zoneID: share.zoneID)
            writer.write(ifPresent: "rootRecordName", share.rootRecordName)
            if let root = share.rootRecord {
                writer.key("rootRecord")
                root.write(to: &writer, form: form, zoneID: share.zoneID)
            }
            writer.key("ownerIdentity")
            share.ownerIdentity.write(to: &writer, form: form)
            writer.write("participantPermission", share.participantPermission.rawValue)
            writer.write("participantStatus", share.participantStatus.rawValue)
            writer.write("participantType", share.participantType.rawValue)
            writer.write(ifPresent: "webpageURL", share.webpageURL)
            if !share.potentialMatches.isEmpty {
                writer.write("potentialMatchList", share.potentialMatches) { writer, match in
                    writer.beginObject()
                    writer.write("participantId", match.participantID)
                    writer.key("contactInformation")
                    match.contact.write(to: &writer)
                    writer.endObject()
                }
            }
        }
        writer.endObject()
    }
}

extension AccessRequestsResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("results", results) { writer, result in
            writer.beginObject()
            writer.key("shortGUID")
            writer.beginObject()
            writer.write("value", result.shortGUID)
            writer.endObject()
            result.error?.writeMembers(to: &writer, form: form)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension ShareDetails {
    /// Writes the members that a share has beside those of every record.
    func writeMembers(to writer: inout JSONWriter, details: Bool) {
        writer.write("shortGUID", shortGUID)
        writer.write("publicPermission", publicPermission.rawValue)
        writer.write("participants", participants) { $1.write(to: &$0, details: details) }
        writer.key("owner")
        owner.write(to: &writer, details: details)
        if let currentUserParticipant {
            writer.key("currentUserParticipant")
            currentUserParticipant.write(to: &writer, details: details)
        }
    }

    /// Writes the members of the record's object `nacre`.
    func writeExtension(to writer: inout JSONWriter) {
        if allowsAccessRequests { writer.write("allowsAccessRequests", true) }
        if !requesters.isEmpty { writer.write("requesters", requesters) { $1.write(to: &$0) } }
        if !blockedIdentities.isEmpty { writer.write("blockedIdentities", blockedIdentities) { $1.write(to: &$0) } }
    }
}
