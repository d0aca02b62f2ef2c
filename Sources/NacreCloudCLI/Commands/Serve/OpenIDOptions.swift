import NacreCloudServer

/// The issuer of a team's own accounts, as options of `nacre serve`.
enum OpenIDOptions {
    private static let issuer = Option.value(
        "oidc-issuer", "url",
        "Let users sign in with accounts of this OpenID Connect issuer, written as it writes itself."
    )
    private static let clientID = Option.value(
        "oidc-client-id", "id", "What the issuer calls this server.")
    private static let secretFile = Option.value(
        "oidc-client-secret-file", "file", "The file with the secret that goes with it.")
    private static let name = Option.value(
        "oidc-name", "name", "How users know the issuer. By default its host.")
    private static let signUp = Option.flag(
        "oidc-sign-up", "Make an account for a user of the issuer who has none.")

    static let all = [issuer, clientID, secretFile, name, signUp]

    /// Returns the OpenID configuration; nil where no issuer is given.
    static func configuration(_ call: Call) throws -> OpenIDConfiguration? {
        guard let url = call.value(issuer) else {
            if let option = all.first(where: call.isSet) {
                throw UsageError(
                    .invalid("--\(option.name)", "give --\(issuer.name) with it"), path: call.path)
            }
            return nil
        }
        guard let id = call.value(clientID), let file = call.value(secretFile) else {
            throw UsageError(
                .invalid(
                    "--\(issuer.name)", "give --\(clientID.name) and --\(secretFile.name) with it"),
                path: call.path)
        }
        let secret = try TextFile.secret(file)
        let host = url.split(separator: "/").dropFirst().first.map(String.init) ?? url
        guard
            let configuration = OpenIDConfiguration(
                issuer: url, clientID: id, clientSecret: secret, name: call.value(name) ?? host,
                opensSignUp: call.has(signUp))
        else {
            throw UsageError(
                .invalid(
                    "--\(issuer.name)",
                    "give an https URL, or an http one of this machine, without ? and #"),
                path: call.path)
        }
        return configuration
    }
}
