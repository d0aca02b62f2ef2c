import NacreCloudWire
import NacreLocks

// The user whom the engine's state belongs to.

extension CKSyncEngine {
    /// Asks the server for the current user if the user is not certain, and tells the delegate if the user is another
    /// one.
    ///
    /// - Throws: the reason why nothing can be synced now: no account, an account that cannot be used, or no answer.
    func settleAccount(_ run: SyncRun) async throws(CKError) {
        if let fault = activity.fault { throw fault }
        let line = database.line
        let settings = try line.settings()
        let isKnown = state.held.withLock { $0.user != nil }
        let isSettled = activity.inner.withLock { inner in
            if isKnown && !inner.mustCheckAccount && inner.checkedSettings == settings { return true }
            // A notification that arrives from here on is handled by the next check.
            inner.mustCheckAccount = false
            inner.hasAskedForAccount = true
            return false
        }
        if isSettled { return }
        do throws(CKError) {
            guard settings.accountToken != nil else { throw .needsAccount }
            let conversation = Conversation(line: line, scope: .public, patience: Patience(.init(), quality: .default))
            let user = try await run.call { () async throws(CKError) in try await conversation.caller() }
            activity.inner.withLock { $0.checkedSettings = settings }
            try await signedIn(user.userRecordName)
        } catch {
            activity.inner.withLock { $0.mustCheckAccount = true }
            switch error.code {
            case .notAuthenticated:
                try await signedOut()
                throw error
            // The account exists, but its state cannot be determined.
            case .permissionFailure: throw CKError(.notAuthenticated, userInfo: error.userInfo)
            default: throw error
            }
        }
    }

    /// Records the user. See docs/decisions/users-current.md.
    private func signedIn(_ user: String) async throws(CKError) {
        let previous = state.held.withLock(\.user)
        guard previous != user else { return }
        let current = CKRecord.ID(recordName: user)
        state.held.withLock { state in
            guard previous == nil else { return state.reset(user: user) }
            state.user = user
            state.revision += 1
        }
        let change =
            previous.map { Event.AccountChange.ChangeType.switchAccounts(previousUser: CKRecord.ID(recordName: $0), currentUser: current) }
            ?? .signIn(currentUser: current)
        try await post(.accountChange(Event.AccountChange(changeType: change)))
        try await postState()
    }

    private func signedOut() async throws(CKError) {
        guard let previous = state.held.withLock(\.user) else { return }
        state.held.withLock { $0.reset(user: nil) }
        try await post(.accountChange(Event.AccountChange(changeType: .signOut(previousUser: CKRecord.ID(recordName: previous)))))
        try await postState()
    }
}
