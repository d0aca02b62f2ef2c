package import NacreCloudStorage
package import NacreCloudWire

/// Whether the user of an account reaches their data. CloudKit: `CKAccountStatus`, which the system sets.
///
/// On this server an administrator sets it, to lock a user out without ending a sign-in, or to test an app in each
/// state. While an account is not available, its caller counts as `Caller.Identity.world`: what the world may read
/// stays readable.
package enum AccountState: String, Codable, CaseIterable, Sendable {
    case available
    /// Restricted by an administrator.
    case restricted
    /// Requests are answered as if no user were signed in.
    case noAccount
    /// Requests are answered as if the account's status could not be found out.
    case couldNotDetermine
    /// The account exists but is not ready. Apps keep their data, send nothing and wait.
    case temporarilyUnavailable

    /// The error for a request for the account's data; nil: the account is available.
    ///
    /// CloudKit: a restricted or undetermined account fails a request with `notAuthenticated`, an account that is not
    /// ready with `accountTemporarilyUnavailable`.
    package var refusal: ServerError? {
        switch self {
        case .available: nil
        case .restricted, .noAccount, .couldNotDetermine: refusal(as: .notAuthenticated)
        case .temporarilyUnavailable: refusal(as: .accountTemporarilyUnavailable)
        }
    }

    /// The error for a request for the account itself, which differs by state.
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
    /// The account's state. A state that this version does not know counts as `couldNotDetermine`.
    package var accountState: AccountState {
        state.map { AccountState(rawValue: $0) ?? .couldNotDetermine } ?? .available
    }
}

extension Caller {
    /// Returns the caller with the account's state: without identity, account and device ID unless the account is
    /// available.
    package func with(_ state: AccountState) -> Caller {
        guard state != .available else { return self }
        var caller = self
        (caller.identity, caller.account, caller.deviceID, caller.accountState) = (.world, nil, nil, state)
        return caller
    }

    /// The error for a request that needs a user and has none.
    package var noUser: ServerError { accountState.refusal ?? .authenticationRequired }
}

extension Registry {
    /// Sets the state of an account from the next request on. Other servers over the same store follow once the
    /// accounts that they remember expire, within seconds.
    package func setState(of account: AccountEntry, to state: AccountState) async throws -> AccountEntry {
        try await write(.account(account.id)) { database, now, transaction in
            try transaction.changeAccount(account, in: database, at: now) { entry in
                entry.state = state == .available ? nil : state.rawValue
            }
        }
    }
}

extension TaskRow {
    /// Returns the task that settles an account: it releases addresses, and removes a deleted account with its data.
    package static func settling(account: DatabaseID, due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(account, .settleAccount, "account"), payload: [], due: due)
    }
}
