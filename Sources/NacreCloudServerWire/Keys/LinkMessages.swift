package import NacreCloudWire

extension KeysScopesJoinRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zoneID: ZoneID?
        var (wrap, joining): ([UInt8]?, [UInt8]?) = (nil, nil)
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "wrap": wrap = try reader.optionalBase64()
            case "joining": joining = try reader.optionalBase64()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            zoneID: try reader.require(zoneID, "zoneID", at: start), wrap: try reader.require(wrap, "wrap", at: start),
            joining: try reader.require(joining, "joining", at: start), extension: `extension`)
    }
}

extension KeysScopesJoinResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.endObject()
    }
}
