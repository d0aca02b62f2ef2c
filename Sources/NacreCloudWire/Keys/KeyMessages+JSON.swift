extension KeysAppendRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write(ifPresent: "statement", base64: statement)
        writer.write("wraps", forms: wraps)
        writer.write(ifPresent: "olderKey", base64: olderKey)
        writer.endObject()
    }
}

extension KeysAppendResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var place: Int?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "place": place = try reader.optionalInteger()
            default: try reader.skip()
            }
        }
        self.init(place: try reader.require(place, "place", at: start))
    }
}

extension KeysLogRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write(ifPresent: "user", user)
        writer.write(ifPresent: "after", after)
        writer.write(ifPresent: "treeSize", treeSize)
        writer.endObject()
    }
}

extension KeysLogResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var statements: [[UInt8]]?
        var (wraps, olderKeys): ([[UInt8]]?, [[UInt8]]?) = (nil, nil)
        var moreComing = false
        var tree: Tree?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "statements": statements = try reader.optionalForms()
            case "wraps": wraps = try reader.optionalForms()
            case "olderKeys": olderKeys = try reader.optionalForms()
            case "moreComing": moreComing = try reader.optionalBoolean() ?? false
            case "tree": tree = try reader.takeNull() ? nil : try Tree(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            statements: try reader.require(statements, "statements", at: start), moreComing: moreComing, wraps: wraps, olderKeys: olderKeys,
            tree: tree)
    }
}

extension KeysLogResponse.Tree {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (head, serverKey): ([UInt8]?, [UInt8]?) = (nil, nil)
        var index: Int?
        var (inclusion, consistency): ([[UInt8]]?, [[UInt8]]?) = (nil, nil)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "head": head = try reader.optionalBase64()
            case "serverKey": serverKey = try reader.optionalBase64()
            case "index": index = try reader.optionalInteger()
            case "inclusion": inclusion = try reader.optionalForms()
            case "consistency": consistency = try reader.optionalForms()
            default: try reader.skip()
            }
        }
        self.init(
            head: try reader.require(head, "head", at: start), serverKey: try reader.require(serverKey, "serverKey", at: start), index: index,
            inclusion: inclusion, consistency: consistency)
    }
}

extension JSONReader {
    /// Reads forms of docs/encryption.md: strings of base64.
    package mutating func optionalForms() throws(JSONError) -> [[UInt8]]? {
        try takeNull() ? nil : try array { reader throws(JSONError) in try reader.base64() }
    }
}

extension JSONWriter {
    /// Writes forms of docs/encryption.md: strings of base64.
    package mutating func write(_ key: StaticString, forms: [[UInt8]]) {
        write(key, forms) { $0.base64($1) }
    }
}
