extension UsersDiscoverRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("lookupInfos", lookupInfos) { $1.write(to: &$0) }
        writer.endObject()
    }
}

extension UsersLookupRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("users", users) { writer, user in
            writer.beginObject()
            writer.write(ifPresent: "emailAddress", user.emailAddress)
            writer.write(ifPresent: "userRecordName", user.userRecordName)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension UsersPermissionRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("userDiscoverability", userDiscoverability.rawValue)
        writer.endObject()
    }
}

extension WebAuthTokenRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("apiToken", apiToken)
        writer.endObject()
    }
}

extension UsersDiscoverResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var users: [UserIdentity]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "users": users = try reader.array { reader throws(JSONError) in try UserIdentity(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(users: try reader.require(users, "users", at: start))
    }
}

extension UsersPermissionResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var status: Discoverability?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userDiscoverability": status = try reader.takeNull() ? nil : try reader.name(of: Discoverability.self)
            default: try reader.skip()
            }
        }
        self.init(userDiscoverability: try reader.require(status, "userDiscoverability", at: start))
    }
}

extension UsersContactKeyResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var contactKey: [UInt8]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "contactKey": contactKey = try reader.optionalBase64()
            default: try reader.skip()
            }
        }
        self.init(contactKey: try reader.require(contactKey, "contactKey", at: start))
    }
}

extension WebAuthTokenResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var webAuthToken: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "webAuthToken": webAuthToken = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(webAuthToken: try reader.require(webAuthToken, "webAuthToken", at: start))
    }
}
