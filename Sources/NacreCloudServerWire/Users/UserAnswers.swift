package import NacreCloudWire

extension UserIdentity: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writeMembers(to: &writer, form: form)
        writer.endObject()
    }

    func writeMembers(to writer: inout JSONWriter, form: AnswerForm) {
        writer.write("userRecordName", userRecordName)
        if let nameComponents {
            writer.key("nameComponents")
            writer.beginObject()
            writer.write(ifPresent: "givenName", nameComponents.givenName)
            writer.write(ifPresent: "familyName", nameComponents.familyName)
            writer.endObject()
        }
        switch lookupInfo {
        case nil: break
        case .contactHash? where !form.details: break
        case let info?:
            writer.key("lookupInfo")
            info.write(to: &writer)
        }
    }
}

extension UsersDiscoverResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("users", users) { $1.write(to: &$0, form: form) }
        writer.endObject()
    }
}

extension UsersPermissionResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("userDiscoverability", userDiscoverability.rawValue)
        writer.endObject()
    }
}

extension UsersContactKeyResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write(ifPresent: "contactKey", base64: contactKey)
        writer.endObject()
    }
}

extension WebAuthTokenResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("webAuthToken", webAuthToken)
        writer.endObject()
    }
}
