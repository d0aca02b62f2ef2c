package import NacreCloudWire

extension WebPushRegisterRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var subscription: Subscription?
        var clientID: String?
        var isGiven = false
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "subscription":
                isGiven = true
                subscription = try reader.takeNull() ? nil : try Subscription(from: &reader)
            case "clientId": clientID = try reader.optionalString()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        _ = try reader.require(isGiven ? true : nil, "subscription", at: start)
        self.init(subscription: subscription, clientID: clientID, extension: `extension`)
    }
}

extension WebPushRegisterRequest.Subscription {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var endpoint: String?
        var keys: (p256dh: String, auth: String)?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "endpoint": endpoint = try reader.optionalString()
            case "keys": keys = try Self.keys(from: &reader)
            default: try reader.skip()
            }
        }
        let known = try reader.require(keys, "keys", at: start)
        self.init(endpoint: try reader.require(endpoint, "endpoint", at: start), p256dh: known.p256dh, auth: known.auth)
    }

    private static func keys(from reader: inout JSONReader) throws(JSONError) -> (p256dh: String, auth: String) {
        var (point, secret): (String?, String?) = (nil, nil)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "p256dh": point = try reader.optionalString()
            case "auth": secret = try reader.optionalString()
            default: try reader.skip()
            }
        }
        return (try reader.require(point, "p256dh", at: start), try reader.require(secret, "auth", at: start))
    }
}

extension DeviceNoteRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        _ = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "heard": heard = try reader.optionalInteger().map(Int64.init)
            case "badge": badge = try reader.optionalInteger().map(Int64.init)
            case "clientId": clientID = try reader.optionalString()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
    }
}

extension WebPushKeyResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("applicationServerKey", applicationServerKey)
        writer.endObject()
    }
}
