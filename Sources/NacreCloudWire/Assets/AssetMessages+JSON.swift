extension AssetsUploadRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write("tokens", tokens) { writer, token in
            writer.beginObject()
            writer.write(ifPresent: "recordName", token.recordName)
            writer.write("recordType", token.recordType)
            writer.write("fieldName", token.fieldName)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension AssetsUploadResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var tokens: [Token]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "tokens": tokens = try reader.array { reader throws(JSONError) in try Token(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(tokens: try reader.require(tokens, "tokens", at: start))
    }
}

extension AssetsUploadResponse.Token {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (recordName, fieldName, url): (String?, String?, String?)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "fieldName": fieldName = try reader.optionalString()
            case "url": url = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(
            recordName: try reader.require(recordName, "recordName", at: start), fieldName: try reader.require(fieldName, "fieldName", at: start),
            url: try reader.require(url, "url", at: start))
    }
}

extension SingleFileResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var file: Asset?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "singleFile": file = try reader.takeNull() ? nil : try reader.assetValue()
            default: try reader.skip()
            }
        }
        self.init(singleFile: try reader.require(file, "singleFile", at: start))
    }
}
