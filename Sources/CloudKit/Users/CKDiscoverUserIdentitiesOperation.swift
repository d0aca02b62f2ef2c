import Foundation
import NacreCloudWire

/// Finds users of a container who allow it, by e-mail address, phone number or user record ID. Nothing is reported for
/// unknown users and for those who do not allow it. Apple: iOS 10, deprecated in iOS 17.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `found`.

    /// The users to look up.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []
    /// Called once for each lookup info that found a user.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    /// Called last; success even if no user was found.
    open var discoverUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `discoverUserIdentitiesResultBlock` is set. Apple: deprecated in iOS 15.
    open var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    typealias Results = [CKUserIdentity.LookupInfo: CKUserIdentity]

    private var found: Results = [:]
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public override init() {
        super.init()
    }

    /// Makes an operation that looks up these users.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func run() async throws(CKError) {
        let conversation = try userConversation()
        try await conversation.discover(userIdentityLookupInfos) { callBack($0, $1) }
    }

    private func callBack(_ identity: CKUserIdentity, _ info: CKUserIdentity.LookupInfo) {
        report { [self] in
            found[info] = identity
            userIdentityDiscoveredBlock?(identity, info)
        }
    }

    override func deliver(_ error: CKError?) {
        if let discoverUserIdentitiesResultBlock {
            discoverUserIdentitiesResultBlock(Result(error))
        } else {
            discoverUserIdentitiesCompletionBlock?(error)
        }
        whenDone?(error.map(Result.failure) ?? .success(found))
    }
}

extension CKOperation {
    /// Returns a conversation about users with the server of the operation's container. Throws `notAuthenticated`
    /// without an account.
    func userConversation() throws(CKError) -> Conversation {
        let container = resolvedConfiguration.container ?? .default()
        guard try container.line.settings().accountToken != nil else { throw .needsAccount }
        return Conversation(
            line: container.line, scope: .public, patience: Patience(resolvedConfiguration, quality: builtInQuality), group: group?.note)
    }
}

extension CKUserIdentity {
    /// Makes the identity of a user whom the server found.
    convenience init(wire user: UserIdentity, lookupInfo: CKUserIdentity.LookupInfo?) {
        self.init(
            userRecordID: CKRecord.ID(recordName: user.userRecordName), lookupInfo: lookupInfo,
            nameComponents: user.nameComponents.map(PersonNameComponents.init), hasiCloudAccount: true)
    }
}

extension PersonNameComponents {
    init(_ names: NameComponents) {
        self.init()
        givenName = names.givenName
        familyName = names.familyName
    }
}
