/// Who asks, as far as the rules care.
package struct Caller: Hashable, Sendable {
    package enum Identity: Hashable, Sendable {
        /// Nobody in particular: an API token without a user.
        case world
        /// A user of the container, by user record name.
        case user(String)
    }

    /// What kind of program asks: limits differ.
    package enum Client: Hashable, Sendable {
        case framework
        case web
    }

    package var identity: Identity
    package var client: Client
    package var deviceID: String?

    package init(_ identity: Identity, client: Client = .web, deviceID: String? = nil) {
        self.identity = identity
        self.client = client
        self.deviceID = deviceID
    }

    package var userRecordName: String? {
        switch identity {
        case .world: nil
        case .user(let name): name
        }
    }

    package var itemsPerRequest: Int {
        client == .framework ? Limits.itemsPerNativeRequest : Limits.itemsPerWebRequest
    }
}
