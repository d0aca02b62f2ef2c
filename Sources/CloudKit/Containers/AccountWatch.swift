// The name is Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
import NacreLocks

extension NSNotification.Name {
    /// Posted when the status of the user's account changes, or another account is used: call `accountStatus` again. It
    /// is posted on an arbitrary queue, without an object. Apple: iOS 9.
    ///
    /// On this server: posted when an answer shows another status than the one before, and when
    /// `CloudKitServer.configure` gives another account token; also when this device has the keys of encrypted values,
    /// and had none at the use before. An app that sends no requests can follow
    /// `CloudKitPush.RemoteNotifications` to learn of changes.
    public static let CKAccountChanged = NSNotification.Name("CKAccountChangedNotification")
}

/// Follows the account's status in the server's answers, and notifies the app when it changes.
final class AccountWatch: Sendable {
    private struct Known {
        var settings: ServerSettings
        var status: CKAccountStatus
    }

    private let known = Locked<Known?>(nil)
    private let changed: @Sendable () -> Void

    /// - Parameter changed: called for each change. Only tests pass it.
    init(changed: @escaping @Sendable () -> Void = { AccountWatch.post() }) {
        self.changed = changed
    }

    /// - Parameter error: the error of a request for the account's own data; nil if it succeeded.
    func heard(_ error: CKError?, with settings: ServerSettings) {
        switch error?.code {
        case nil: note(.available, settings)
        case .notAuthenticated: note(.noAccount, settings)
        case .managedAccountRestricted: note(.restricted, settings)
        case .accountTemporarilyUnavailable: note(.temporarilyUnavailable, settings)
        default: break
        }
    }

    /// Notes that this device has the keys of the account's encrypted values, and had none before.
    func keysCame() { changed() }

    private func note(_ status: CKAccountStatus, _ settings: ServerSettings) {
        let hasChanged = known.withLock { known in
            // Another token is another account, which `configure` announces.
            guard let before = known, before.settings == settings else {
                known = Known(settings: settings, status: status)
                return false
            }
            // A refused request for records does not distinguish a restricted account from none.
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
