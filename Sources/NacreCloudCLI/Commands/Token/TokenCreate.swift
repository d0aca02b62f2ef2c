import NacreCloudServer

/// `nacre token create`
enum TokenCreate {
    private static let kind = Option.required(
        "kind", "kind", oneOf: ["api", "server"], "An API token for apps and pages, or a server-to-server key.")
    private static let name = Option.value("name", "text", "What the token is for, to tell it from others.")
    private static let publicKey = Option.value("public-key", "file", "The public half of a server-to-server key on P-256, in PEM.")

    static let command = Command(
        "create", "Make a token that lets an app or a server speak to a container.",
        discussion: """
            Prints the token, which an app takes as CLOUDKIT_API_TOKEN. For a server-to-server key it prints the key's ID, which requests send as \
            X-Apple-CloudKit-Request-KeyID; the private half stays with you. Make a pair: openssl ecparam -name prime256v1 -genkey -noout -out \
            eckey.pem, then openssl ec -in eckey.pem -pubout -out public.pem. A server-to-server key may use the public database alone.
            """,
        options: [SharedOptions.container, SharedOptions.environment, kind, name, publicKey] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let isServer = try call.require(kind) == "server"
        let key = try call.value(publicKey).map(pem)
        if isServer, key == nil { throw UsageError(.missingOption(publicKey.spelling), path: call.path) }
        let asked = AdminMessages.NewToken(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            kind: try call.require(kind), name: call.value(name), publicKey: key)
        let admin = try await AdminClient.connect(call)
        if isServer {
            let key = try await admin.createKey(asked)
            if call.has(SharedOptions.json) { return try Output.json(key) }
            return try Output.data(key.keyID)
        }
        let token = try await admin.create(asked)
        if call.has(SharedOptions.json) { return try Output.json(token) }
        try Output.data(token.token)
        Output.hint("Give it to your app: export CLOUDKIT_API_TOKEN=\(token.token)")
    }

    private static func pem(_ path: String) throws -> String {
        let text = try TextFile.read(path)
        guard !text.contains("PRIVATE KEY") else {
            throw CommandFailure(
                .failure, "\(path) is a private key, and was not sent",
                remedy: "Give the public half: openssl ec -in \(path) -pubout -out public.pem.")
        }
        return text
    }
}
