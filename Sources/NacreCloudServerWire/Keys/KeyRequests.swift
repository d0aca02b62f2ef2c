package import NacreCloudWire

extension KeysAppendRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var (statement, olderKey): ([UInt8]?, [UInt8]?) = (nil, nil)
        var wraps: [[UInt8]] = []
        var `extension` = RequestExtension()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "statement": statement = try reader.optionalBase64()
            case "wraps": wraps = try reader.optionalForms() ?? []
            case "olderKey": olderKey = try reader.optionalBase64()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(
            statement: try reader.require(statement, "statement", at: start), wraps: wraps, olderKey: olderKey, extension: `extension`)
    }
}

extension KeysLogRequest: ReadableRequest {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var user: String?
        var (after, treeSize): (Int?, Int?) = (nil, nil)
        var `extension` = RequestExtension()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "user": user = try reader.optionalString()
            case "after": after = try reader.optionalInteger()
            case "treeSize": treeSize = try reader.optionalInteger()
            case "nacre": `extension` = try RequestExtension(from: &reader)
            default: try reader.skip()
            }
        }
        self.init(user: user, after: after, treeSize: treeSize, extension: `extension`)
    }
}
