package import NacreCloudWire

/// A user in answers of the older endpoints `users/current` and `users/lookup/…`. CloudKit's reference prints a user
/// dictionary there, and clients decode an identity, so the answer is both.
package struct UserDictionary: Equatable, Sendable {
    package var identity: UserIdentity

    package init(_ identity: UserIdentity) {
        self.identity = identity
    }
}

extension UserDictionary: WritableAnswer {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init(try UserIdentity(from: &reader))
    }

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        identity.writeMembers(to: &writer, form: form)
        writer.write(ifPresent: "firstName", identity.nameComponents?.givenName)
        writer.write(ifPresent: "lastName", identity.nameComponents?.familyName)
        if case .emailAddress(let address)? = identity.lookupInfo { writer.write("emailAddress", address) }
        writer.endObject()
    }
}

/// The answer to `users/lookup/email`, `users/lookup/id` and `users/lookup/contacts`.
package struct UsersLookupResponse: Equatable, Sendable {
    package var users: [UserDictionary]

    package init(users: [UserDictionary]) {
        self.users = users
    }
}

extension UsersLookupResponse: WritableAnswer {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init(users: try UsersDiscoverResponse(from: &reader).users.map(UserDictionary.init))
    }

    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("users", users) { $1.write(to: &$0, form: form) }
        writer.endObject()
    }
}
