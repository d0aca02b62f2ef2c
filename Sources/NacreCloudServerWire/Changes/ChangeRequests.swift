package import NacreCloudWire

/// Options of one entry of `zones`, or of the request for all entries.
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

    /// Makes the request's item for a zone.
    /// - Parameter all: The options for all zones, used where these are nil.
    func item(_ zoneID: ZoneID, after syncToken: String?, _ all: FeedOptions = FeedOptions()) -> ChangesZoneRequest.Item {
        ChangesZoneRequest.Item(
            zoneID: zoneID, syncToken: syncToken, resultsLimit: resultsLimit ?? all.resultsLimit, desiredKeys: desiredKeys ?? all.desiredKeys,
            desiredRecordTypes: desiredRecordTypes ?? all.desiredRecordTypes, reverse: reverse ?? all.reverse ?? false,
            numbersAsStrings: numbersAsStrings ?? all.numbersAsStrings ?? false)
    }
}

/// An entry of `zones`, before the options for all entries are known.
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

extension ChangesZoneRequest: ReadableRequest {
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
}

extension ChangesDatabaseRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        try self.init(from: &reader, token: "syncToken")
    }

    /// Reads the options.
    /// - Parameter token: The key of the token.
    init(from reader: inout JSONReader, token: StaticString) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case token: syncToken = try reader.optionalString()
            case "resultsLimit": resultsLimit = try reader.optionalInteger()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
    }
}
