/// `GET users/caller`: who the server takes the caller for.
package struct UserIdentity: Equatable, Sendable {
    package var userRecordName: String

    package init(userRecordName: String) {
        self.userRecordName = userRecordName
    }
}
