/// What an entry of `zones` may say, and what the request may say for all entries.
struct FeedOptions {
    var resultsLimit: Int?
    var desiredKeys: [String]?
    var desiredRecordTypes: [String]?
    var reverse: Bool?
    var numbersAsStrings: Bool?

    mutating func take(_ key: JSONText, from reader: inout JSONReader) throws(JSONError) -> Bool {
        switch key {
        case "resultsLimit": resultsLimit = try reader.optionalInteger()
        case "desiredKeys": desiredKeys = try reader.optionalNames()
        case "desiredRecordTypes": desiredRecordTypes = try reader.optionalNames()
        case "reverse": reverse = try reader.optionalBoolean()
        case "numberAsStrings", "numbersAsStrings": numbersAsStrings = try reader.optionalBoolean()
        default: return false
        }
        return true
    }

    /// - Parameter all: what holds where these options say nothing.
    func item(_ zoneID: ZoneID, after syncToken: String?, _ all: FeedOptions = FeedOptions()) -> ChangesZoneRequest.Item {
        ChangesZoneRequest.Item(
            zoneID: zoneID, syncToken: syncToken, resultsLimit: resultsLimit ?? all.resultsLimit, desiredKeys: desiredKeys ?? all.desiredKeys,
            desiredRecordTypes: desiredRecordTypes ?? all.desiredRecordTypes, reverse: reverse ?? all.reverse ?? false,
            numbersAsStrings: numbersAsStrings ?? all.numbersAsStrings ?? false)
    }
}

/// An entry of `zones`, before what is said for all is known.
private struct FeedDraft {
    var zoneID: ZoneID
    var syncToken: String?
    var options = FeedOptions()

    init(from reader: inout JSONReader) throws(JSONError) {
        var zoneID: ZoneID?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "syncToken": syncToken = try reader.optionalString()
            default:
                if try options.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        self.zoneID = try reader.require(zoneID, "zoneID", at: start)
    }
}

extension ChangesZoneRequest: RequestMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var drafts: [FeedDraft]?
        var all = FeedOptions()
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": drafts = try reader.array { reader throws(JSONError) in try FeedDraft(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default:
                if try all.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
        let found = try reader.require(drafts, "zones", at: start)
        self.init(zones: found.map { $0.options.item($0.zoneID, after: $0.syncToken, all) }, extension: `extension`)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zones", zones) { writer, item in
            writer.beginObject()
            item.writeMembers(to: &writer)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension ChangesZoneRequest.Item {
    func writeMembers(to writer: inout JSONWriter) {
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "syncToken", syncToken)
        writer.write(ifPresent: "resultsLimit", resultsLimit)
        writer.write(ifPresent: "desiredKeys", desiredKeys)
        writer.write(ifPresent: "desiredRecordTypes", desiredRecordTypes)
        if reverse { writer.write("reverse", true) }
        if numbersAsStrings { writer.write("numberAsStrings", true) }
    }
}

extension ChangesZoneResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zones: [Result]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.array { reader throws(JSONError) in try Result(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(zones: try reader.require(zones, "zones", at: start))
    }

    /// `form.zoneID` is not used: the records of a page show the page's zone, or their own.
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        write(to: &writer, details: form.details) { _ in form.numbersAsStrings }
    }

    /// - Parameter numbersAsStrings: by the place in `zones`, since each zone of a request may ask for itself.
    package func write(to writer: inout JSONWriter, details: Bool, numbersAsStrings: (Int) -> Bool) {
        writer.beginObject()
        writer.key("zones")
        writer.beginArray()
        for (index, zone) in zones.enumerated() {
            zone.write(to: &writer, form: AnswerForm(details: details, numbersAsStrings: numbersAsStrings(index)))
        }
        writer.endArray()
        writer.endObject()
    }
}

extension ChangesZoneResponse.Result {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try ZoneDraft(from: &reader)
        let zoneID = try draft.zoneID(from: reader)
        if let error = draft.error {
            self = .failure(zoneID, error)
            return
        }
        self = .page(
            ChangesZoneResponse.Page(
                zoneID: zoneID, records: try reader.require(draft.records, "records", at: draft.start),
                syncToken: try reader.require(draft.syncToken, "syncToken", at: draft.start), moreComing: draft.moreComing,
                isMidCommit: draft.details.isMidCommit, clientChangeToken: draft.details.clientChangeToken))
    }

    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        switch self {
        case .page(let page): page.writeMembers(to: &writer, form: form)
        case .failure(let zoneID, let error):
            writer.write("zoneID", zoneID, asAnswer: true)
            error.writeMembers(to: &writer, form: form)
        }
        writer.endObject()
    }
}

extension ChangesZoneResponse.Page {
    fileprivate func writeMembers(to writer: inout JSONWriter, form: AnswerForm) {
        var form = form
        form.zoneID = zoneID
        writer.write("zoneID", zoneID, asAnswer: true)
        writer.write("records", records) { $1.write(to: &$0, form: form) }
        writer.write("syncToken", syncToken)
        writer.write("moreComing", moreComing)
        guard form.details, isMidCommit || clientChangeToken != nil else { return }
        writer.key("nacre")
        writer.beginObject()
        if isMidCommit { writer.write("midCommit", true) }
        writer.write(ifPresent: "clientChangeToken", base64: clientChangeToken)
        writer.endObject()
    }
}
