extension AssetsUploadRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("zoneID", zoneID, asAnswer: false)
        `extension`.write(to: &writer)
        writer.write("tokens", tokens) { writer, item in
            writer.beginObject()
            writer.write(ifPresent: "recordName", item.recordName)
            writer.write("recordType", item.recordType)
            writer.write("fieldName", item.fieldName)
            if let file = item.file {
                writer.key("nacre")
                writer.beginObject()
                writer.write("chunks", file.chunks) { writer, chunk in
                    writer.beginObject()
                    writer.write("size", Int64(chunk.size))
                    writer.write(ifPresent: "sha256", base64: chunk.digest)
                    writer.endObject()
                }
                writer.endObject()
            }
            writer.endObject()
        }
        writer.endObject()
    }
}

extension AssetsRereferenceRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("zoneID", zoneID, asAnswer: false)
        `extension`.write(to: &writer)
        writer.write("assets", assets) { writer, item in
            writer.beginObject()
            writer.write("recordName", item.recordName)
            writer.write("fieldName", item.fieldName)
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
        var awaited: AwaitedFile?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "fieldName": fieldName = try reader.optionalString()
            case "url": url = try reader.optionalString()
            case "nacre": awaited = try AwaitedFile(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            recordName: try reader.require(recordName, "recordName", at: start),
            fieldName: try reader.require(fieldName, "fieldName", at: start), url: try reader.require(url, "url", at: start), awaited: awaited)
    }
}

extension AwaitedFile {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (missing, offset): ([Int]?, Int64?)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "missing": missing = try reader.array { reader throws(JSONError) in Int(clamping: try reader.int64()) }
            case "offset": offset = try reader.int64()
            default: try reader.skip()
            }
        }
        self.init(missing: try reader.require(missing, "missing", at: start), offset: try reader.require(offset, "offset", at: start))
    }
}

extension AssetUploadResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var file: Asset?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "singleFile": file = try reader.assetValue()
            default: try reader.skip()
            }
        }
        self.init(singleFile: try reader.require(file, "singleFile", at: start))
    }
}

extension AssetsRereferenceResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var assets: [Asset]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "assets": assets = try reader.array { reader throws(JSONError) in try reader.assetValue() }
            default: try reader.skip()
            }
        }
        self.init(assets: try reader.require(assets, "assets", at: start))
    }
}
