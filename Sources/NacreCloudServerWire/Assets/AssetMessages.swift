package import NacreCloudWire

extension AssetsUploadRequest: ReadableRequest {
    /// Reads a request. One token may stand in place of an array of one.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var tokens: [Item]?
        var zoneID: ZoneID?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "tokens": tokens = try reader.arrayOrSingle { reader throws(JSONError) in try Item(from: &reader) }
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(tokens: try reader.require(tokens, "tokens", at: start), zoneID: zoneID ?? .defaultZone, extension: `extension`)
    }
}

extension AssetsUploadRequest.Item {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (recordName, recordType, fieldName): (String?, String?, String?)
        var file: AnnouncedFile?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "recordType": recordType = try reader.optionalString()
            case "fieldName": fieldName = try reader.optionalString()
            case "nacre": file = try AnnouncedFile(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            recordName: recordName, recordType: try reader.require(recordType, "recordType", at: start),
            fieldName: try reader.require(fieldName, "fieldName", at: start), file: file)
    }
}

extension AnnouncedFile {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var chunks: [Chunk]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "chunks": chunks = try reader.array { reader throws(JSONError) in try Chunk(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(chunks: try reader.require(chunks, "chunks", at: start))
    }
}

extension AnnouncedFile.Chunk {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (size, digest): (Int64?, [UInt8]?)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "size": size = try reader.int64()
            case "sha256": digest = try reader.base64()
            default: try reader.skip()
            }
        }
        self.init(
            size: Int(clamping: try reader.require(size, "size", at: start)), digest: try reader.require(digest, "sha256", at: start))
    }
}

extension AssetsRereferenceRequest: ReadableRequest {
    /// Reads a request. One asset may stand in place of an array of one.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var assets: [Item]?
        var zoneID: ZoneID?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "assets": assets = try reader.arrayOrSingle { reader throws(JSONError) in try Item(from: &reader) }
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(assets: try reader.require(assets, "assets", at: start), zoneID: zoneID ?? .defaultZone, extension: `extension`)
    }
}

extension AssetsRereferenceRequest.Item {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (recordName, fieldName): (String?, String?)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "fieldName": fieldName = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(
            recordName: try reader.require(recordName, "recordName", at: start),
            fieldName: try reader.require(fieldName, "fieldName", at: start))
    }
}

extension AssetsUploadResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("tokens", tokens) { writer, token in
            writer.beginObject()
            writer.write("recordName", token.recordName)
            writer.write("fieldName", token.fieldName)
            writer.write("url", token.url)
            if let awaited = token.awaited {
                writer.key("nacre")
                writer.beginObject()
                writer.write("missing", awaited.missing) { $0.integer(Int64($1)) }
                writer.write("offset", awaited.offset)
                writer.endObject()
            }
            writer.endObject()
        }
        writer.endObject()
    }
}

extension AssetUploadResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.key("singleFile")
        singleFile.write(to: &writer)
        writer.endObject()
    }
}

extension AssetsRereferenceResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("assets", assets) { $1.write(to: &$0) }
        writer.endObject()
    }
}
