package import NacreCloudWire

extension UsersDiscoverRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var infos: [UserLookupInfo]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "lookupInfos": infos = try reader.arrayOrSingle { reader throws(JSONError) in try UserLookupInfo(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(lookupInfos: try reader.require(infos, "lookupInfos", at: start), extension: `extension`)
    }
}

extension UserLookupInfo {
    /// Reads a lookup info with exactly one way; a key whose value is null does not count.
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try Draft(from: &reader)
        if draft.ways.count > 1 { throw JSONError(.twoWaysToLookUp, at: draft.start) }
        self = try reader.require(draft.only, "emailAddress, phoneNumber or userRecordName", at: draft.start)
    }
}

extension UsersLookupRequest: ReadableRequest {
    /// Reads a request. One user may stand in place of an array of one.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var users: [Item]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "users": users = try reader.arrayOrSingle { reader throws(JSONError) in try Item(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(users: try reader.require(users, "users", at: start), extension: `extension`)
    }
}

extension UsersLookupRequest.Item {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "emailAddress": emailAddress = try reader.optionalString()
            case "userRecordName": userRecordName = try reader.optionalString()
            default: try reader.skip()
            }
        }
    }
}

extension UsersPermissionRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var status: Discoverability?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userDiscoverability": status = try reader.takeNull() ? nil : try reader.name(of: Discoverability.self)
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(userDiscoverability: try reader.require(status, "userDiscoverability", at: start), extension: `extension`)
    }
}

extension WebAuthTokenRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var apiToken: String?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "apiToken": apiToken = try reader.optionalString()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(apiToken: try reader.require(apiToken, "apiToken", at: start), extension: `extension`)
    }
}
