// The name is Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
import NacreLocks

extension NSNotification.Name {
    /// The status of the user's account has changed, or its account is another one: ask `accountStatus` again. Posted on an arbitrary queue, without an
    /// object. Apple: iOS 9.
    ///
    /// On this server: posted when an answer shows another status than the one before, for which an app that asks nothing follows
    /// `CloudKitPush.RemoteNotifications`, and when `CloudKitServer.configure` gives another account token.
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// What the server's answers have shown of the account's status, and tells the app when that changes.
final class AccountWatch: Sendable {
    private struct Known {
        var settings: ServerSettings
        var status: CKAccountStatus
    }

    private let known = Locked<Known?>(nil)
    private let changed: @Sendable () -> Void

    /// - Parameter changed: called for each change. Only tests choose it.
    init(changed: @escaping @Sendable () -> Void = { AccountWatch.post() }) {
        self.changed = changed
    }

    /// - Parameter error: with which a request for the account's own data was refused; nil: it was answered.
    func heard(_ error: CKError?, with settings: ServerSettings) {
        switch error?.code {
        case nil: note(.available, settings)
        case .notAuthenticated: note(.noAccount, settings)
        case .managedAccountRestricted: note(.restricted, settings)
        case .accountTemporarilyUnavailable: note(.temporarilyUnavailable, settings)
        default: break
        }
    }

    private func note(_ status: CKAccountStatus, _ settings: ServerSettings) {
        let hasChanged = known.withLock { known in
            // Another token is another account, which `configure` tells.
            guard let before = known, before.settings == settings else {
                known = Known(settings: settings, status: status)
                return false
            }
            // A request for records does not tell a restricted account from none.
            if before.status == status || (before.status == .restricted && status == .noAccount) { return false }
            known?.status = status
            return true
        }
        if hasChanged { changed() }
    }

    static func post() {
        DispatchQueue.global().async { NotificationCenter.default.post(name: .CKAccountChanged, object: nil) }
    }
}
