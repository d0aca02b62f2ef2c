package import NacreCloudWire

extension KeysEnrolmentPostRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var message: [UInt8]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "message": message = try reader.optionalBase64()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(message: try reader.require(message, "message", at: start), extension: `extension`)
    }
}

extension KeysEnrolmentListRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var `extension` = RequestExtension()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(extension: `extension`)
    }
}

extension KeysEnrolmentPostResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.endObject()
    }
}

extension KeysEnrolmentListResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("conversations", conversations) { writer, conversation in
            writer.beginObject()
            writer.write(ifPresent: "commitment", base64: conversation.commitment)
            writer.write(ifPresent: "answer", base64: conversation.answer)
            writer.write(ifPresent: "opening", base64: conversation.opening)
            writer.endObject()
        }
        writer.endObject()
    }
}
