extension SubscriptionsLookupRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("subscriptions", subscriptionIDs) { $0.subscription($1) }
        writer.endObject()
    }
}

extension SubscriptionsModifyRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("operations", operations) { $1.write(to: &$0) }
        writer.endObject()
    }
}

extension SubscriptionOperation {
    fileprivate func write(to writer: inout JSONWriter) {
        // Exact times, as in a query.
        let form = ValueForm(details: true, numbersAsStrings: false)
        writer.beginObject()
        switch self {
        case .create(let subscription):
            writer.write("operationType", "create")
            writer.key("subscription")
            subscription.write(to: &writer, form: form)
        case .update(let subscription):
            writer.write("operationType", "update")
            writer.key("subscription")
            subscription.write(to: &writer, form: form)
        case .delete(let subscriptionID):
            writer.write("operationType", "delete")
            writer.key("subscription")
            writer.subscription(subscriptionID)
        }
        writer.endObject()
    }
}

extension JSONWriter {
    /// Writes a subscription with its ID alone.
    fileprivate mutating func subscription(_ subscriptionID: String) {
        beginObject()
        write("subscriptionID", subscriptionID)
        endObject()
    }
}

extension SubscriptionResult {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try SubscriptionDraft(from: &reader)
        if let error = draft.error {
            self = .failure(try draft.subscriptionID(from: reader), error)
        } else if draft.isDeleted {
            self = .deleted(try draft.subscriptionID(from: reader))
        } else {
            self = .subscription(try draft.subscription(from: reader))
        }
    }
}

extension SubscriptionsResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var subscriptions: [SubscriptionResult]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "subscriptions": subscriptions = try reader.array { reader throws(JSONError) in try SubscriptionResult(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(subscriptions: try reader.require(subscriptions, "subscriptions", at: start))
    }
}

extension TokensCreateRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("apnsEnvironment", apnsEnvironment.rawValue)
        writer.write(ifPresent: "clientId", clientID)
        writer.endObject()
    }
}

extension TokensRegisterRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("apnsEnvironment", apnsEnvironment.rawValue)
        writer.write("apnsToken", apnsToken)
        writer.write(ifPresent: "clientId", clientID)
        writer.endObject()
    }
}

/// The members of the messages about tokens, collected in any order.
package struct TokenDraft {
    private let start: Int
    private var environment: APNsEnvironment?
    private var token: String?
    private var courierURL: String?
    package private(set) var clientID: String?
    package private(set) var `extension` = RequestExtension()

    package init(from reader: inout JSONReader) throws(JSONError) {
        start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "apnsEnvironment": environment = try reader.takeNull() ? nil : try reader.name(of: APNsEnvironment.self)
            case "apnsToken": token = try reader.optionalString()
            case "webcourierURL": courierURL = try reader.optionalString()
            case "clientId": clientID = try reader.optionalString()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
    }

    package func apnsEnvironment(from reader: borrowing JSONReader) throws(JSONError) -> APNsEnvironment {
        try reader.require(environment, "apnsEnvironment", at: start)
    }

    package func apnsToken(from reader: borrowing JSONReader) throws(JSONError) -> String {
        try reader.require(token, "apnsToken", at: start)
    }

    func webcourierURL(from reader: borrowing JSONReader) throws(JSONError) -> String {
        try reader.require(courierURL, "webcourierURL", at: start)
    }
}

extension TokensCreateResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try TokenDraft(from: &reader)
        self.init(
            apnsEnvironment: try draft.apnsEnvironment(from: reader), apnsToken: try draft.apnsToken(from: reader),
            webcourierURL: try draft.webcourierURL(from: reader))
    }
}

extension TokensRegisterResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while try reader.nextKey() != nil { try reader.skip() }
    }
}
