extension KeysScopesModifyRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "manifest", base64: manifest)
        writer.write("wraps", forms: wraps)
        writer.write(ifPresent: "olderKey", base64: olderKey)
        writer.write(ifPresent: "share", share)
        if let links { writer.write("links", links: links) }
        writer.endObject()
    }
}

extension KeysScopesModifyResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while try reader.nextKey() != nil { try reader.skip() }
    }
}

extension KeysScopesListRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "before", before)
        writer.write(ifPresent: "share", share)
        writer.write(ifPresent: "scope", base64: scope)
        writer.endObject()
    }
}

extension KeysScopesListResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var (manifests, wraps, olderKeys): ([[UInt8]]?, [[UInt8]]?, [[UInt8]]?) = (nil, nil, nil)
        var (links, joinings): ([ScopeLink]?, [[UInt8]]?) = (nil, nil)
        var moreComing = false
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "manifests": manifests = try reader.optionalForms()
            case "wraps": wraps = try reader.optionalForms()
            case "olderKeys": olderKeys = try reader.optionalForms()
            case "links": links = try reader.optionalScopeLinks()
            case "joinings": joinings = try reader.optionalForms()
            case "moreComing": moreComing = try reader.optionalBoolean() ?? false
            default: try reader.skip()
            }
        }
        self.init(
            manifests: try reader.require(manifests, "manifests", at: start), moreComing: moreComing, wraps: wraps, olderKeys: olderKeys,
            links: links, joinings: joinings)
    }
}
