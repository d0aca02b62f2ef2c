import Foundation
import NacreCloudWire

/// Finds users in the user's address book who allow it.
///
/// On this server: there is no address book, so a signed-in user's operation succeeds and finds no users; see
/// `docs/decisions/users-discovery.md`. Apple: iOS 10, deprecated in iOS 17.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `found`.

    /// Called once for each user found.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?
    /// Called last.
    open var discoverAllUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `discoverAllUserIdentitiesResultBlock` is set. Apple: deprecated in iOS 15.
    open var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    private var found: [CKUserIdentity] = []
    /// Receives the results; set by the single-call functions.
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
