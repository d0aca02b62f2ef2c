package import NacreCloudWire

/// What a password must be, wherever an account is made.
package enum PasswordRule {
    package static func fault(_ password: String) -> ServerError? {
        guard password.unicodeScalars.count >= Limits.passwordCharacters else {
            return ServerError(
                .badRequest, "password is too short", field: "password",
                remedy: "Take at least \(Limits.passwordCharacters) characters.")
        }
        return password.utf8.count > Limits.passwordBytes ? tooLong : nil
    }

    package static let tooLong = ServerError(
        .badRequest, "password is too long", field: "password", remedy: "Take at most \(Limits.passwordBytes) bytes of UTF-8.")
}
