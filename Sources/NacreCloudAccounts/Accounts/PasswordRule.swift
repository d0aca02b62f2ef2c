import NacreCloudStorage
package import NacreCloudWire

/// The rule for a new password.
package enum PasswordRule {
    /// - Parameter field: The field of the request that holds the password.
    package static func fault(_ password: String, field: String = "password") -> ServerError? {
        guard password.unicodeScalars.count >= Limits.passwordCharacters else {
            return ServerError(
                .badRequest, "password is too short", field: field, remedy: "Take at least \(Limits.passwordCharacters) characters.")
        }
        return password.utf8.count > Limits.passwordBytes ? tooLong(field) : nil
    }

    package static func tooLong(_ field: String = "password") -> ServerError {
        ServerError(.badRequest, "password is too long", field: field, remedy: "Take at most \(Limits.passwordBytes) bytes of UTF-8.")
    }
}
