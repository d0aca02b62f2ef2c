extension KeysEnrolmentPostRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write(ifPresent: "message", base64: message)
        writer.endObject()
    }
}

extension KeysEnrolmentPostResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while try reader.nextKey() != nil { try reader.skip() }
    }
}

extension KeysEnrolmentListRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.endObject()
    }
}

extension KeysEnrolmentListResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var conversations: [Conversation]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "conversations": conversations = try reader.array { reader throws(JSONError) in try Conversation(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(conversations: try reader.require(conversations, "conversations", at: start))
    }
}

extension KeysEnrolmentListResponse.Conversation {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (commitment, answer, opening): ([UInt8]?, [UInt8]?, [UInt8]?) = (nil, nil, nil)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "commitment": commitment = try reader.optionalBase64()
            case "answer": answer = try reader.optionalBase64()
            case "opening": opening = try reader.optionalBase64()
            default: try reader.skip()
            }
        }
        self.init(commitment: try reader.require(commitment, "commitment", at: start), answer: answer, opening: opening)
    }
}
