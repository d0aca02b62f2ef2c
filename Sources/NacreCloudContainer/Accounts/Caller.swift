import NacreCloudWire

/// The sender of a request, as the rules see it: a user, an administrator or nobody.
package struct Caller: Hashable, Sendable {
    package enum Identity: Hashable, Sendable {
        /// Nobody in particular: an API token without a user.
        case world
        /// A user of the container, by user record name.
        case user(String)
        /// A server-to-server key, by the name of the user record that is its own.
        case serverKey(String)
    }

    /// What kind of program asks: limits differ.
    package enum Client: Hashable, Sendable {
        case framework
        case web

        /// On this server: the framework's pages of a feed end with a commit, so that an app sees a batch whole. CloudKit: `resultsLimit` is a
        /// maximum for web clients.
        package var keepsCommitsWhole: Bool { self == .framework }
    }

    package var identity: Identity
    package var client: Client
    package var deviceID: String?
    /// The account behind a user who is signed in.
    package var account: String?
    /// What showed who it is: URLs that are given to the caller stand for it. nil where nobody asks for any.
    package var credential: Credential?
    /// Names the request where it was signed and a repetition of the same bytes is the same request; nil elsewhere.
    package var signedOperationID: String?
    /// It is the server itself, in the user's name: what apps must not do, such as making a user record, it does.
    package private(set) var isServer = false
    /// Of the account that it is signed in with. Where it is not available the sender is nobody in particular.
    package internal(set) var accountState = AccountState.available
    /// It administrates the container: in its public database no grant holds it.
    package var isAdministrator = false

    package init(_ identity: Identity, client: Client = .web, deviceID: String? = nil, account: String? = nil) {
        self.identity = identity
        self.client = client
        self.deviceID = deviceID
        self.account = account
    }

    /// Who administrates the server, in nobody's name.
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

    /// The server, in a user's name.
    static func server(inNameOf user: String) -> Caller {
        var caller = Caller(.user(user), client: .framework)
        caller.isServer = true
        return caller
    }

    package var itemsPerRequest: Int {
        client == .framework ? Limits.itemsPerNativeRequest : Limits.itemsPerWebRequest
    }
}
