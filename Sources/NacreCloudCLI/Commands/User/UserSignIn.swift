import Glibc
import NacreCloudServer

/// `nacre user sign-in`
enum UserSignIn {
    private static let email = Argument("email", "The address of the account.")
    private static let apiToken = Option.required("api-token", "token", "An API token of the container and environment.")
    private static let account = Option.flag("account", "Make an account token, for a device that uses the framework.")
    private static let keep = Option.flag("keep-signed-in", "Let the web auth token live two weeks and not half an hour.")
    private static let device = Option.value("device", "name", "The name of the device, with --account (default: this machine's).")
    private static let server = Option.value("server", "url", "The public URL of a server elsewhere.")

    static let command = Command(
        "sign-in", "Sign a user in to a container.",
        discussion: """
            Prints a web auth token (ckWebAuthToken), or with --account an account token, which the framework takes as CLOUDKIT_ACCOUNT_TOKEN.
            """,
        arguments: [email],
        options: [
            SharedOptions.passwordFromInput, SharedOptions.container, SharedOptions.environment, apiToken, account, keep, device,
            SharedOptions.data, server, SharedOptions.json,
        ]
    ) { call in
        let wantsAccount = call.has(account)
        if wantsAccount, call.has(keep) { throw UsageError(.exclusive("--account", "--keep-signed-in"), path: call.path) }
        if call.isGiven(server), call.isGiven(SharedOptions.data) { throw UsageError(.exclusive("--server", "--data"), path: call.path) }
        let request = AccountMessages.SignIn(
            email: try call.require(email), password: try Password.fromInput(), apiToken: try call.require(apiToken),
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            kind: wantsAccount ? .account : .web, device: wantsAccount ? call.value(device) ?? machineName : nil,
            keepSignedIn: call.has(keep) ? true : nil)
        let signedIn = try await PublicClient(url: try await publicURL(call)).signIn(request)
        if call.has(SharedOptions.json) { return try Output.json(signedIn) }
        try Output.data(signedIn.token)
        Output.hint("The user is \(signedIn.userRecordName) in this container.")
    }

    /// Returns the URL given, or that of the data folder's server, which must prove itself: it gets the password.
    private static func publicURL(_ call: Call) async throws -> String {
        if let url = call.value(server) { return try AdminServer.checked(url, of: server, call) }
        return try await AdminClient.connect(call).appURL()
    }

    private static var machineName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "command line" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
