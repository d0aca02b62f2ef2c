import Foundation
import NacreCloudWire

/// The availability of the user's private database. Apple: iOS 8.
public enum CKAccountStatus: Int, Sendable {
    /// The status is unknown; an error gives the reason.
    case couldNotDetermine = 0
    /// The user's data is available.
    case available = 1
    /// The account's administrator does not allow access.
    case restricted = 2
    /// There is no account. On this server: no account token is set, or the server refuses it.
    case noAccount = 3
    /// There is an account that is not ready: keep local data, send nothing, and wait.
    case temporarilyUnavailable = 4
}

extension CKContainer {
    /// Calls back with the account's status. Only `couldNotDetermine` comes with an error.
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        identifying { result in
            let (status, error) = CKAccountStatus.reading(result)
            completionHandler(status, error)
        }.start()
    }

    /// Returns the account's status. Throws if it could not be determined, for example if the server cannot be reached.
    public func accountStatus() async throws -> CKAccountStatus {
        let (status, error) = CKAccountStatus.reading(await SingleCall.result { identifying($0) })
        if let error { throw error }
        return status
    }

    /// Calls back with the ID of the user's record in the public and the private database; `notAuthenticated` without
    /// an account.
    @preconcurrency
    public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        naming { result in
            switch result {
            case .success(let user): completionHandler(CKRecord.ID(recordName: user.userRecordName), nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }.start()
    }

    /// Returns the ID of the user's record in the public and the private database; throws `notAuthenticated` without an
    /// account.
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
