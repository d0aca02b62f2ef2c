import NacreCloudServer

/// `nacre token create`
enum TokenCreate {
    private static let kind = Option.required(
        "kind", "kind", oneOf: ["api", "server", "management"],
        "An API token for apps and pages, a server-to-server key, or a token for a container's schema.")
    private static let name = Option.value("name", "text", "What the token is for, to tell it from others.")
    private static let publicKey = Option.value("public-key", "file", "The public half of a server-to-server key on P-256, in PEM.")

    private static let origin = Option.value(
        "origin", "origin", "Let pages of this origin alone use an API token, such as https://app.example; give it once for each.")
    private static let redirect = Option.value("redirect", "url", "Send who signs in to this URL, instead of a message to the page that asks.")

    private static let environment = Option.value(
        "environment", "env", oneOf: ["development", "production"], "The environment of an API token or a key.")
    private static let expires = Option.value(
        "expires", "time", "How long a management token is good: a number with m, h or d, at most 365d, as without it.")

    private static let administrator = Option.flag("administrator", "Let a server-to-server key do everything in the public database.")

    static let command = Command(
        "create", "Make a token that lets an app, a server or a script speak to a container.",
        discussion: """
            Prints the token, which an app takes as CLOUDKIT_API_TOKEN. For a server-to-server key it prints the key's ID, which requests send as \
            X-Apple-CloudKit-Request-KeyID; the private half stays with you. Make a pair: openssl ecparam -name prime256v1 -genkey -noout -out \
            eckey.pem, then openssl ec -in eckey.pem -pubout -out public.pem. A server-to-server key may use the public database alone, as a \
            user of its own: nacre role assign gives it roles, and --administrator makes it one that no grant holds.
            A management token is for scripts: it reads and changes the schema of its container as an administrator does, with --token-file or nacre \
            cktool, and nothing else. It is shown this once.
            """,
        options: [SharedOptions.container, environment, kind, name, publicKey, administrator, origin, redirect, expires] + AdminServer.options
            + [
                SharedOptions.json
            ]
    ) { call in
        let isServer = try call.require(kind) == "server"
        let isManagement = try call.require(kind) == "management"
        if !isManagement, !call.isGiven(environment) { throw UsageError(.missingOption(environment.spelling), path: call.path) }
        let key = try call.value(publicKey).map(pem)
        if isServer, key == nil { throw UsageError(.missingOption(publicKey.spelling), path: call.path) }
        let asked = AdminMessages.NewToken(
            container: try call.require(SharedOptions.container), environment: call.value(environment),
            kind: try call.require(kind), name: call.value(name), publicKey: key, isAdministrator: call.has(administrator) ? true : nil,
            origins: call.isGiven(origin) ? call.all(origin) : nil, redirect: call.value(redirect),
            lifeSeconds: try call.value(expires).map { try Quantity.seconds($0, of: expires, call) })
        let admin = try await AdminClient.connect(call)
        if isServer {
            let key = try await admin.createKey(asked)
            if call.has(SharedOptions.json) { return try Output.json(key) }
            return try Output.data(key.keyID)
        }
        let token = try await admin.create(asked)
        if call.has(SharedOptions.json) { return try Output.json(token) }
        try Output.data(token.token)
        if isManagement { return Output.hint("It is not shown again. For nacre cktool: export CLOUDKIT_MANAGEMENT_TOKEN=\(token.token)") }
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
