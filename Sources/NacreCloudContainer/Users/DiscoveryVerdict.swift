package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

// Rules of discovery: which callers may ask, what follows from an answer, and which users are found. Pure.

/// Checks that a caller may use the endpoints of users, except `users/caller` and `users/current`; nil: yes.
///
/// CloudKit: the endpoints need a signed-in user and the public database. A server-to-server key is no user, and an API
/// token alone discovers nobody.
package func usersVerdict(_ target: DatabaseTarget, by caller: Caller) -> ServerError? {
    switch (caller.identity, target.scope) {
    case (.serverKey, _): .keyIsNoUser
    case (.world, _), (.user, .registry): caller.noUser
    case (.user, .public): nil
    case (.user, .private): .usersAreInPublicDatabase("privatedb")
    case (.user, .shared): .usersAreInPublicDatabase("shareddb")
    }
}

/// The source of an answer to whether a user may be found.
package enum DiscoverabilitySource: Hashable, Sendable, CaseIterable {
    /// An app that has asked the user.
    case app
    /// The user, with the account's password.
    case user
}

/// The permission in force after an answer to whether others may find a user.
///
/// CloudKit: an app asks once, for all devices; after that only the user changes it, in the system's settings.
/// On this server: an app may also withdraw the permission, which only hides the user.
/// - Parameter answer: Not `initialState`.
package func discoverabilityVerdict(
    _ answer: Discoverability, over current: Discoverability, by judge: DiscoverabilitySource
) -> Discoverability {
    switch (judge, current, answer) {
    case (.user, _, _), (.app, .initialState, _), (.app, .granted, .denied): answer
    case (.app, .granted, _), (.app, .denied, _): current
    }
}

extension UserLookupInfo {
    /// The cost of a lookup beyond its row. User record names are random; addresses and numbers can be guessed.
    var guessingCost: Int {
        switch self {
        case .emailAddress, .phoneNumber, .contactHash: Limits.addressLookupCost
        case .userRecordName: 0
        }
    }
}

/// Checks of a list of lookup infos before any user is looked up. On this server: invalid addresses and names are no
/// fault and match no user, because address books contain them.
enum LookupShape {
    package static func fault(of infos: [UserLookupInfo], field: String, by caller: Caller) -> ServerError? {
        if let fault = RequestShape.fault(count: infos.count, field: field, by: caller) { return fault }
        if Set(infos).count < infos.count { return .repeatedName(field: field) }
        for (index, info) in infos.enumerated() {
            if case .contactHash(let hash) = info, !HashedAddress.isHash(hash) {
                return .badValue(
                    "\(field)[\(index)].nacre.contactHash", "invalid hash of an address or a number",
                    remedy: "A hash has 64 hexadecimal digits in lower case; docs/wire.md says of what.")
            }
        }
        return nil
    }
}

extension UsersLookupRequest {
    /// The lookup infos of `users/lookup/email`.
    package func byEmail() throws(ServerError) -> [UserLookupInfo] {
        try each("emailAddress") { $0.emailAddress.map(UserLookupInfo.emailAddress) }
    }

    /// The lookup infos of `users/lookup/id`.
    package func byID() throws(ServerError) -> [UserLookupInfo] {
        try each("userRecordName") { $0.userRecordName.map(UserLookupInfo.userRecordName) }
    }

    private func each(_ key: String, _ info: (Item) -> UserLookupInfo?) throws(ServerError) -> [UserLookupInfo] {
        var infos: [UserLookupInfo] = []
        for (index, user) in users.enumerated() {
            guard let info = info(user) else { throw .missing("users[\(index)].\(key)") }
            infos.append(info)
        }
        return infos
    }
}

extension ServerError {
    /// CloudKit: `AUTHENTICATION_FAILED`, the answer to every fault of a signed request.
    static let keyIsNoUser = ServerError(
        .authenticationFailed, "Authentication failed", remedy: "A server-to-server key is no user: users are looked up by those who are signed in.")

    /// - Parameter database: The database type in CloudKit's spelling.
    static func usersAreInPublicDatabase(_ database: String) -> ServerError {
        ServerError(
            .badRequest, "endpoint not applicable in the database type '\(database)'", native: .badDatabase,
            remedy: "Ask for users under the public database.")
    }

    static let permissionNeedsAnswer = ServerError.badValue(
        "userDiscoverability", "INITIAL_STATE is no answer", remedy: "Answer GRANTED or DENIED.")

    package static let unknownPlace = ServerError(
        .notFound, "the account has no user in this container and environment", field: "container",
        remedy: "Sign in to the container first.")
}
