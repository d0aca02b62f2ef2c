package import NacreCloudWire

extension SubscriptionsLookupRequest: ReadableRequest {
    /// Reads a request. Only `subscriptionID` of its elements counts, so that answers may be sent back.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var subscriptionIDs: [String]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "subscriptions": subscriptionIDs = try reader.array { reader throws(JSONError) in try Self.subscriptionID(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(subscriptionIDs: try reader.require(subscriptionIDs, "subscriptions", at: start), extension: `extension`)
    }

    private static func subscriptionID(from reader: inout JSONReader) throws(JSONError) -> String {
        var subscriptionID: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "subscriptionID": subscriptionID = try reader.optionalString()
            default: try reader.skip()
            }
        }
        return try reader.require(subscriptionID, "subscriptionID", at: start)
    }
}

extension SubscriptionsModifyRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var operations: [SubscriptionOperation]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operations": operations = try reader.array { reader throws(JSONError) in try SubscriptionOperation(from: &reader) }
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(operations: try reader.require(operations, "operations", at: start), extension: `extension`)
    }
}

extension SubscriptionOperation {
    private enum OperationType: String {
        case create
        case update
        case delete
    }

    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var type: OperationType?
        var draft: SubscriptionDraft?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": type = try reader.takeNull() ? nil : try reader.name(of: OperationType.self)
            case "subscription": draft = try reader.takeNull() ? nil : try SubscriptionDraft(from: &reader)
            default: try reader.skip()
            }
        }
        let known = try reader.require(type, "operationType", at: start)
        let subscription = try reader.require(draft, "subscription", at: start)
        switch known {
        case .create: self = .create(try subscription.subscription(from: reader))
        case .update: self = .update(try subscription.subscription(from: reader))
        case .delete: self = .delete(try subscription.subscriptionID(from: reader))
        }
    }
}

extension TokensCreateRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try TokenDraft(from: &reader)
        self.init(apnsEnvironment: try draft.apnsEnvironment(from: reader), clientID: draft.clientID, extension: draft.extension)
    }
}

extension TokensRegisterRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try TokenDraft(from: &reader)
        self.init(
            apnsEnvironment: try draft.apnsEnvironment(from: reader), apnsToken: try draft.apnsToken(from: reader), clientID: draft.clientID,
            extension: draft.extension)
    }
}
