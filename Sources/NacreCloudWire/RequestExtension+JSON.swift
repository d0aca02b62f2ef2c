extension RequestExtension {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        if try reader.takeNull() { return }
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "details": wantsDetails = try reader.optionalBoolean() ?? false
            case "operationID": operationID = try reader.optionalString()
            case "waitSeconds": waitSeconds = try reader.optionalDouble()
            case "tokenOnly": wantsTokenOnly = try reader.optionalBoolean() ?? false
            case "clientChangeToken": clientChangeToken = try reader.optionalBase64()
            default: try reader.skip()
            }
        }
    }

    /// Writes the member `nacre`, or nothing where all its members have default values.
    package func write(to writer: inout JSONWriter) {
        guard self != RequestExtension() else { return }
        writer.key("nacre")
        writer.beginObject()
        if wantsDetails { writer.write("details", true) }
        writer.write(ifPresent: "operationID", operationID)
        if let waitSeconds, waitSeconds.isFinite { writer.write("waitSeconds", waitSeconds) }
        if wantsTokenOnly { writer.write("tokenOnly", true) }
        writer.write(ifPresent: "clientChangeToken", base64: clientChangeToken)
        writer.endObject()
    }
}
