extension UserIdentity: AnswerMessage {
    /// Reads the bare identity that CloudKit answers, and the `{"users": […]}` that its reference prints.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var userRecordName: String?
        var listed: [UserIdentity] = []
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userRecordName": userRecordName = try reader.optionalString()
            case "users":
                if try reader.takeNull() { continue }
                listed = try reader.array { reader throws(JSONError) in try UserIdentity(from: &reader) }
            default: try reader.skip()
            }
        }
        self.init(userRecordName: try reader.require(userRecordName ?? listed.first?.userRecordName, "userRecordName", at: start))
    }
}
