extension WebPushRegisterRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("subscription")
        if let subscription {
            writer.beginObject()
            writer.write("endpoint", subscription.endpoint)
            writer.key("keys")
            writer.beginObject()
            writer.write("p256dh", subscription.p256dh)
            writer.write("auth", subscription.auth)
            writer.endObject()
            writer.endObject()
        } else {
            writer.null()
        }
        writer.write(ifPresent: "clientId", clientID)
        `extension`.write(to: &writer)
        writer.endObject()
    }
}

extension DeviceNoteRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        if let heard { writer.write("heard", heard) }
        if let badge { writer.write("badge", badge) }
        writer.write(ifPresent: "clientId", clientID)
        `extension`.write(to: &writer)
        writer.endObject()
    }
}

extension WebPushKeyResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var applicationServerKey: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "applicationServerKey": applicationServerKey = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(applicationServerKey: try reader.require(applicationServerKey, "applicationServerKey", at: start))
    }
}
