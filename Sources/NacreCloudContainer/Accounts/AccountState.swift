package import NacreCloudWire

/// Whether an account's users reach their data. CloudKit: `CKAccountStatus`, which there the system settles.
///
/// On this server an administrator sets it: to shut somebody out without ending a sign-in, and to see how an app takes each of them. Whoever is signed in
/// with an account that is not available is nobody in particular: what the world may read stays readable.
package enum AccountState: String, Codable, CaseIterable, Sendable {
    case available
    /// Its administrator does not allow it.
    case restricted
    /// As if nobody were signed in.
    case noAccount
    /// As if it could not be found out.
    case couldNotDetermine
    /// There, but not ready: apps keep what they have, send nothing and wait.
    case temporarilyUnavailable

    /// What is answered to who asks for an account's data; nil: they are reached.
    ///
    /// CloudKit: an account that is restricted or undetermined is `notAuthenticated` to a request, one that is not ready `accountTemporarilyUnavailable`.
    package var refusal: ServerError? {
        switch self {
        case .available: nil
        case .restricted, .noAccount, .couldNotDetermine: refusal(as: .notAuthenticated)
        case .temporarilyUnavailable: refusal(as: .accountTemporarilyUnavailable)
        }
    }

    /// What is answered to who asks for the account itself, which tells the states apart.
    package var refusalOfIdentity: ServerError? {
        switch self {
        case .restricted: refusal(as: .managedAccountRestricted)
        case .couldNotDetermine: refusal(as: .permissionFailure)
        case .available, .noAccount, .temporarilyUnavailable: refusal
        }
    }

    private func refusal(as code: NativeErrorCode) -> ServerError {
        switch self {
        case .noAccount: Self.error(.authenticationFailed, "Authentication failed", code)
        case .available, .restricted: Self.error(.accessDenied, "account is restricted", code)
        case .couldNotDetermine: Self.error(.accessDenied, "account status could not be determined", code)
        case .temporarilyUnavailable: Self.error(.accessDenied, "account is temporarily unavailable", code)
        }
    }

    private static func error(_ code: ServerErrorCode, _ reason: String, _ native: NativeErrorCode) -> ServerError {
        ServerError(
            code, reason, native: native,
            remedy: "An administrator has set the state of this account, and can set it back: nacre user state --email ADDRESS --state available.")
    }
}

extension AccountEntry {
    /// A state that this version does not know counts as one that could not be determined.
    package var accountState: AccountState {
        state.map { AccountState(rawValue: $0) ?? .couldNotDetermine } ?? .available
    }
}

extension Caller {
    /// The same sender with an account in a state: one that is not available is nobody's.
    package func with(_ state: AccountState) -> Caller {
        guard state != .available else { return self }
        var caller = self
        (caller.identity, caller.account, caller.deviceID, caller.accountState) = (.world, nil, nil, state)
        return caller
    }

    /// Why there is no user where one is needed.
    package var noUser: ServerError { accountState.refusal ?? .authenticationRequired }
}

extension Registry {
    /// Sets the state of an account, from the next request on; on other servers over the same store within the seconds that they remember.
    package func setState(of account: AccountEntry, to state: AccountState) async throws -> AccountEntry {
        try await write(.account(account.id)) { database, now, transaction in
            try transaction.changeAccount(account, in: database, at: now) { entry in
                entry.state = state == .available ? nil : state.rawValue
            }
        }
    }
}
