package import NacreCloudWire

/// The sender of a request, as the rules see it: a user, a server-to-server key or the world.
package struct Caller: Hashable, Sendable {
    package enum Identity: Hashable, Sendable {
        /// An API token without a user.
        case world
        /// A user of the container, by user record name.
        case user(String)
        /// A server-to-server key, by the name of its own user record.
        case serverKey(String)
    }

    /// The kind of program that sends the request. Limits differ by it.
    package enum Client: Hashable, Sendable {
        case framework
        case web

        /// On this server: the framework's pages of a feed end at a commit, so an app sees a batch whole. CloudKit:
        /// `resultsLimit` is a maximum for web clients.
        package var keepsCommitsWhole: Bool { self == .framework }
    }

    package var identity: Identity
    package var client: Client
    package var deviceID: String?
    /// The account of a signed-in user.
    package var account: String?
    /// The credential that authenticated the caller. Asset URLs made for the caller are bound to it; nil: none.
    package var credential: Credential?
    /// The ID of a signed request, where a repetition of the same bytes is the same request; nil otherwise.
    package var signedOperationID: String?
    /// Whether the server itself acts in the user's name. It may do what apps must not, for example make a user record.
    package private(set) var isServer = false
    /// The state of the account that is signed in. Unless it is available, the identity is `world`.
    package internal(set) var accountState = AccountState.available
    /// Whether the caller administrates the container: no grant binds it in the public database.
    package var isAdministrator = false

    package init(_ identity: Identity, client: Client = .web, deviceID: String? = nil, account: String? = nil) {
        self.identity = identity
        self.client = client
        self.deviceID = deviceID
        self.account = account
    }

    /// The server's administrator, without a user.
    package static let administrator = {
        var caller = Caller(.world)
        caller.isAdministrator = true
        return caller
    }()

    package var userRecordName: String? {
        switch identity {
        case .world: nil
        case .user(let name), .serverKey(let name): name
        }
    }

    /// The device of the server's own changes, as Apple's service names it.
    private static let serverDevice = "iCloud"

    /// Returns the server as a caller, in a user's name.
    package static func server(inNameOf user: String) -> Caller {
        var caller = Caller(.user(user), client: .framework, deviceID: serverDevice)
        caller.isServer = true
        return caller
    }

    package var itemsPerRequest: Int {
        client == .framework ? Limits.itemsPerNativeRequest : Limits.itemsPerWebRequest
    }
}

extension ServerError {
    package static let authenticationRequired = ServerError(
        .authenticationRequired, "request needs authorization", internalCode: 1002,
        remedy: "Sign in, or give an account token: CLOUDKIT_ACCOUNT_TOKEN for the framework, ckWebAuthToken on the web.")
}
