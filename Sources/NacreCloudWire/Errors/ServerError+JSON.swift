/// The keys of an error, whole or of one item, collected in any order.
struct ErrorDraft {
    private var code: String?
    private var reason: String?
    private var retryAfter: Int?
    private var redirectURL: String?

    /// Reads the value if the key is one of an error's.
    mutating func take(_ key: JSONText, from reader: inout JSONReader) throws(JSONError) -> Bool {
        switch key {
        case "serverErrorCode": code = try reader.optionalString()
        case "reason": reason = try reader.optionalString()
        case "retryAfter": retryAfter = try reader.optionalDouble().flatMap { Int(exactly: $0.rounded(.up)) }
        case "redirectURL": redirectURL = try reader.optionalString()
        default: return false
        }
        return true
    }

    /// Returns the error; nil where there is no code, which alone tells an error from an item. An unknown code
    /// becomes `INTERNAL_ERROR`.
    func error(_ details: ItemExtension) -> ServerError? {
        guard let code else { return nil }
        var error = ServerError(ServerErrorCode(rawValue: code) ?? .internalError, reason ?? "")
        error.retryAfter = retryAfter
        error.redirectURL = redirectURL
        if let native = details.code { error.nativeCode = native }
        error.internalCode = details.internalCode
        error.field = details.field
        error.remedy = details.remedy
        error.serverRecord = details.serverRecord
        return error
    }
}

/// An answer that is an error as a whole; its HTTP status is `error.code.status`.
package struct ErrorResponse: AnswerMessage {
    /// The request's ID, for a search in logs.
    package var uuid: String
    package var error: ServerError

    package init(uuid: String, error: ServerError) {
        self.uuid = uuid
        self.error = error
    }

    package init(from reader: inout JSONReader) throws(JSONError) {
        var uuid: String?
        var draft = ErrorDraft()
        var details = ItemExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try draft.take(key, from: &reader) { continue }
            switch key {
            case "uuid": uuid = try reader.optionalString()
            case "nacre": details = try ItemExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(uuid: uuid ?? "", error: try reader.require(draft.error(details), "serverErrorCode", at: start))
    }
}
