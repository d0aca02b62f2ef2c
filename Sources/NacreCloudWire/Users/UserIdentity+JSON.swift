extension UserIdentity: AnswerMessage {
    /// Reads the bare identity that CloudKit answers, or the `{"users": […]}` that its reference prints.
    package init(from reader: inout JSONReader) throws(JSONError) {
        var userRecordName: String?
        var nameComponents: NameComponents?
        var lookupInfo: UserLookupInfo?
        var listed: [UserIdentity] = []
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userRecordName": userRecordName = try reader.optionalString()
            case "nameComponents": nameComponents = try reader.takeNull() ? nil : try NameComponents(from: &reader)
            case "lookupInfo": lookupInfo = try reader.takeNull() ? nil : try UserLookupInfo.Draft(from: &reader).only
            case "users":
                if try reader.takeNull() { continue }
                listed = try reader.array { reader throws(JSONError) in try UserIdentity(from: &reader) }
            default: try reader.skip()
            }
        }
        if userRecordName == nil, let first = listed.first {
            self = first
            return
        }
        self.init(
            userRecordName: try reader.require(userRecordName, "userRecordName", at: start), nameComponents: nameComponents,
            lookupInfo: lookupInfo)
    }
}

extension NameComponents {
    init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "givenName": givenName = try reader.optionalString()
            case "familyName": familyName = try reader.optionalString()
            default: try reader.skip()
            }
        }
    }
}

extension UserLookupInfo {
    /// The members of a lookup info, collected in any order.
    package struct Draft {
        package let start: Int
        package private(set) var ways: [UserLookupInfo] = []

        package init(from reader: inout JSONReader) throws(JSONError) {
            start = try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "emailAddress": add(try reader.optionalString().map(UserLookupInfo.emailAddress))
                case "phoneNumber": add(try reader.optionalString().map(UserLookupInfo.phoneNumber))
                case "userRecordName": add(try reader.optionalString().map(UserLookupInfo.userRecordName))
                case "nacre": add(try Self.hash(from: &reader).map(UserLookupInfo.contactHash))
                default: try reader.skip()
                }
            }
        }

        private mutating func add(_ way: UserLookupInfo?) {
            if let way { ways.append(way) }
        }

        private static func hash(from reader: inout JSONReader) throws(JSONError) -> String? {
            if try reader.takeNull() { return nil }
            var hash: String?
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "contactHash": hash = try reader.optionalString()
                default: try reader.skip()
                }
            }
            return hash
        }

        /// The way to look up; nil unless there is exactly one.
        package var only: UserLookupInfo? { ways.count == 1 ? ways.first : nil }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .emailAddress(let address): writer.write("emailAddress", address)
        case .phoneNumber(let number): writer.write("phoneNumber", number)
        case .userRecordName(let name): writer.write("userRecordName", name)
        case .contactHash(let hash):
            writer.key("nacre")
            writer.beginObject()
            writer.write("contactHash", hash)
            writer.endObject()
        }
        writer.endObject()
    }
}
