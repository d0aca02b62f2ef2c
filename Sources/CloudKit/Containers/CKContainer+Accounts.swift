import Foundation
import NacreCloudWire

/// Whether the user can use the private database. Apple: iOS 8.
public enum CKAccountStatus: Int, Sendable {
    /// An error says why.
    case couldNotDetermine = 0
    /// The user's data can be asked for.
    case available = 1
    /// The account's administrator does not allow it.
    case restricted = 2
    /// On this server: there is no account token, or the server refuses it.
    case noAccount = 3
    /// There is an account, but not ready: keep what you have, send nothing, wait.
    case temporarilyUnavailable = 4
}

extension CKContainer {
    /// Asks the server. `couldNotDetermine` comes with the error; nothing else does.
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        identifying { result in
            let (status, error) = CKAccountStatus.reading(result)
            completionHandler(status, error)
        }.start()
    }

    /// Throws where the status could not be determined, as when the server cannot be reached.
    public func accountStatus() async throws -> CKAccountStatus {
        let (status, error) = CKAccountStatus.reading(await SingleCall.result { identifying($0) })
        if let error { throw error }
        return status
    }

    /// The name of the user's record in the public and the private database; `notAuthenticated` without an account.
    @preconcurrency
    public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        naming { result in
            switch result {
            case .success(let user): completionHandler(CKRecord.ID(recordName: user.userRecordName), nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }.start()
    }

    /// The name of the user's record in the public and the private database; `notAuthenticated` without an account.
    public func userRecordID() async throws -> CKRecord.ID {
        CKRecord.ID(recordName: try await SingleCall.result { naming($0) }.get().userRecordName)
    }
}

extension CKAccountStatus {
    fileprivate static func reading(_ result: Result<UserIdentity, CKError>) -> (CKAccountStatus, CKError?) {
        switch result {
        case .success: return (.available, nil)
        case .failure(let error):
            switch error.code {
            case .notAuthenticated: return (.noAccount, nil)
            case .managedAccountRestricted: return (.restricted, nil)
            case .accountTemporarilyUnavailable: return (.temporarilyUnavailable, nil)
            default: return (.couldNotDetermine, error)
            }
        }
    }
}

extension CKContainer {
    fileprivate func identifying(_ completion: @escaping @Sendable (Result<UserIdentity, CKError>) -> Void) -> CKOperation {
        ContainerCall(self, ask: { conversation throws(CKError) in try await conversation.caller() }, completion: completion)
    }

    fileprivate func naming(_ completion: @escaping @Sendable (Result<UserIdentity, CKError>) -> Void) -> CKOperation {
        ContainerCall(self, ask: { conversation throws(CKError) in try await conversation.requireCaller() }, completion: completion)
    }
}
