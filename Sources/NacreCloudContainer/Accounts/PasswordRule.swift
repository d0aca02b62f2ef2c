package import NacreCloudWire

/// What a password must be, wherever an account is made.
package enum PasswordRule {
    /// NIST SP 800-63B, 5.1.1.1: "at least 8 characters in length". It asks for no other rule of composition, and so do we.
    package static let charactersMin = 8
    /// On this server: what a hash takes in, so that nobody makes it hash a book.
    package static let bytesMax = 1024

    package static func fault(_ password: String) -> ServerError? {
        guard password.unicodeScalars.count >= charactersMin else {
            return ServerError(.badRequest, "password is too short", field: "password", remedy: "Take at least \(charactersMin) characters.")
        }
        return password.utf8.count > bytesMax ? tooLong : nil
    }

    package static let tooLong = ServerError(
        .badRequest, "password is too long", field: "password", remedy: "Take at most \(bytesMax) bytes of UTF-8.")
}
