package import NacreCloudWire

extension AssetsUploadRequest: ReadableRequest {
    /// One token may stand in place of an array of one.
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
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.optionalString()
            case "recordType": recordType = try reader.optionalString()
            case "fieldName": fieldName = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(
            recordName: recordName, recordType: try reader.require(recordType, "recordType", at: start),
            fieldName: try reader.require(fieldName, "fieldName", at: start))
    }
}

extension AssetsRereferenceRequest: ReadableRequest {
    /// One asset may stand in place of an array of one.
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
