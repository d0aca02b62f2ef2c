package import NacreCloudWire

// The rules of discovery: who may ask, what an answer to the permission leaves, and who is found. Pure.

/// Whether a caller may use the endpoints of users but `users/caller` and `users/current`; nil: yes.
///
/// CloudKit: they want a user who is signed in and the public database; a server-to-server key is none. An API token alone discovers nobody.
package func usersVerdict(_ target: DatabaseTarget, by caller: Caller) -> ServerError? {
    switch (caller.identity, target.scope) {
    case (.serverKey, _): .keyIsNoUser
    case (.world, _), (.user, .registry): caller.noUser
    case (.user, .public): nil
    case (.user, .private): .usersAreInPublicDatabase("privatedb")
    case (.user, .shared): .usersAreInPublicDatabase("shareddb")
    }
}

/// Who says whether a user may be found.
package enum DiscoverabilityJudge: Hashable, Sendable, CaseIterable {
    /// An app, which has asked the user.
    case app
    /// The user, by the password.
    case user
}

/// What holds after an answer to the question whether others may find a user.
///
/// CloudKit: an app asks once, for all devices; after that the user alone changes it, in the system's settings. On this server: an app may also take
/// the permission back, which shows less of the user and never more.
/// - Parameter answer: not `initialState`.
package func discoverabilityVerdict(
    _ answer: Discoverability, over current: Discoverability, by judge: DiscoverabilityJudge
) -> Discoverability {
    switch (judge, current, answer) {
    case (.user, _, _), (.app, .initialState, _), (.app, .granted, .denied): answer
    case (.app, .granted, _), (.app, .denied, _): current
    }
}

extension UserLookupInfo {
    /// What to be looked up by it costs beside its row. User record names are random; addresses and numbers can be guessed.
    var guessingCost: Int {
        switch self {
        case .emailAddress, .phoneNumber, .contactHash: Limits.addressLookupCost
        case .userRecordName: 0
        }
    }
}

/// What is wrong with a list of lookup infos before anybody is looked up. On this server: an address that is none, and a name that is none, are nobody's,
/// and not wrong: address books have such.
enum LookupShape {
    static func fault(of infos: [UserLookupInfo], field: String, by caller: Caller) -> ServerError? {
        if let fault = RequestShape.fault(count: infos.count, field: field, by: caller) { return fault }
        if Set(infos).count < infos.count { return .repeatedName(field: field) }
        for (place, info) in infos.enumerated() {
            if case .contactHash(let hash) = info, !HashedAddress.isHash(hash) {
                return .badValue(
                    "\(field)[\(place)].nacre.contactHash", "invalid hash of an address or a number",
                    remedy: "A hash has 64 hexadecimal digits in lower case; docs/wire.md says of what.")
            }
        }
        return nil
    }
}

extension UsersLookupRequest {
    /// What `users/lookup/email` asks for.
    package func byEmail() throws(ServerError) -> [UserLookupInfo] {
        try each("emailAddress") { $0.emailAddress.map(UserLookupInfo.emailAddress) }
    }

    /// What `users/lookup/id` asks for.
    package func byID() throws(ServerError) -> [UserLookupInfo] {
        try each("userRecordName") { $0.userRecordName.map(UserLookupInfo.userRecordName) }
    }

    private func each(_ key: String, _ info: (Item) -> UserLookupInfo?) throws(ServerError) -> [UserLookupInfo] {
        var infos: [UserLookupInfo] = []
        for (place, user) in users.enumerated() {
            guard let info = info(user) else { throw .missing("users[\(place)].\(key)") }
            infos.append(info)
        }
        return infos
    }
}

extension ServerError {
    /// CloudKit: `AUTHENTICATION_FAILED`, as everything that is wrong with a signed request.
    static let keyIsNoUser = ServerError(
        .authenticationFailed, "Authentication failed", remedy: "A server-to-server key is no user: users are looked up by those who are signed in.")

    /// - Parameter database: as CloudKit spells its type.
    static func usersAreInPublicDatabase(_ database: String) -> ServerError {
        ServerError(
            .badRequest, "endpoint not applicable in the database type '\(database)'", native: .badDatabase,
            remedy: "Ask for users under the public database.")
    }

    static let permissionNeedsAnswer = ServerError.badValue(
        "userDiscoverability", "INITIAL_STATE is no answer", remedy: "Answer GRANTED or DENIED.")

    static let unknownPlace = ServerError(
        .notFound, "the account has no user in this container and environment", field: "container",
        remedy: "Sign in to the container first.")
}
