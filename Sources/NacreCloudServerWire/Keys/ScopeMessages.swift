package import NacreCloudWire

extension KeysScopesModifyRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zoneID: ZoneID?
        var (manifest, olderKey): ([UInt8]?, [UInt8]?) = (nil, nil)
        var wraps: [[UInt8]] = []
        var share: String?
        var links: [ScopeLink]?
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "manifest": manifest = try reader.optionalBase64()
            case "wraps": wraps = try reader.optionalForms() ?? []
            case "olderKey": olderKey = try reader.optionalBase64()
            case "share": share = try reader.optionalString()
            case "links": links = try reader.optionalScopeLinks()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            zoneID: try reader.require(zoneID, "zoneID", at: start), manifest: try reader.require(manifest, "manifest", at: start),
            wraps: wraps, olderKey: olderKey, share: share, links: links, extension: `extension`)
    }
}

extension KeysScopesListRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var zoneID: ZoneID?
        var before: Int?
        var (share, scope): (String?, [UInt8]?)
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "before": before = try reader.optionalInteger()
            case "share": share = try reader.optionalString()
            case "scope": scope = try reader.optionalBase64()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            zoneID: try reader.require(zoneID, "zoneID", at: start), before: before, share: share, scope: scope, extension: `extension`)
    }
}

extension KeysScopesModifyResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.endObject()
    }
}

extension KeysScopesListResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("manifests", forms: manifests)
        if let wraps { writer.write("wraps", forms: wraps) }
        if let olderKeys { writer.write("olderKeys", forms: olderKeys) }
        if let links { writer.write("links", links: links) }
        if let joinings { writer.write("joinings", forms: joinings) }
        writer.write("moreComing", moreComing)
        writer.endObject()
    }
}
