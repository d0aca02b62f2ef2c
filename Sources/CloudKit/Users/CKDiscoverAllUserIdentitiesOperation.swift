import Foundation
import NacreCloudWire

/// Finds those of the user's address book who have allowed it.
///
/// On this server: there is no address book, so an operation of a user who is signed in succeeds and finds nobody; see
/// `docs/decisions/users-are-found-where-they-allowed-it.md`. Apple: iOS 10, deprecated in iOS 17.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Sendable: as `CKOperation` says; `found` is touched on the callback queue alone.

    /// Called once for each user found.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?
    /// Called last.
    open var discoverAllUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called where `discoverAllUserIdentitiesResultBlock` is set. Apple: deprecated in iOS 15.
    open var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    private var found: [CKUserIdentity] = []
    /// For the single-call functions.
    var whenDone: (@Sendable (Result<[CKUserIdentity], CKError>) -> Void)?

    public override init() {
        super.init()
    }

    override func run() async throws(CKError) {
        for user in try await userConversation().discoverContacts().users {
            let identity = CKUserIdentity(wire: user, lookupInfo: nil)
            report { [self] in
                found.append(identity)
                userIdentityDiscoveredBlock?(identity)
            }
        }
    }

    override func deliver(_ error: CKError?) {
        if let discoverAllUserIdentitiesResultBlock {
            discoverAllUserIdentitiesResultBlock(Result(error))
        } else {
            discoverAllUserIdentitiesCompletionBlock?(error)
        }
        whenDone?(error.map(Result.failure) ?? .success(found))
    }
}
