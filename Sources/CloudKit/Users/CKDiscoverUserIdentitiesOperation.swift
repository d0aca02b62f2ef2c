import Foundation
import NacreCloudWire

/// Finds users of a container who have allowed it, by e-mail address or user record ID. Who is not found is not told of: nobody has the address, or its
/// user has not allowed it. Apple: iOS 10, deprecated in iOS 17.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    // Sendable: as `CKOperation` says; `found` is touched on the callback queue alone.

    /// By what users are looked for.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []
    /// Called once for each lookup info by which somebody was found.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    /// Called last; success also where nobody was found.
    open var discoverUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called where `discoverUserIdentitiesResultBlock` is set. Apple: deprecated in iOS 15.
    open var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    typealias Results = [CKUserIdentity.LookupInfo: CKUserIdentity]

    private var found: Results = [:]
    /// For the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public override init() {
        super.init()
    }

    /// An operation that looks for these users.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func run() async throws(CKError) {
        let conversation = try userConversation()
        try await conversation.discover(userIdentityLookupInfos) { tell($0, $1) }
    }

    private func tell(_ identity: CKUserIdentity, _ info: CKUserIdentity.LookupInfo) {
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
    /// The talk about users with the server of the operation's container. Throws `notAuthenticated` without an account.
    func userConversation() throws(CKError) -> Conversation {
        let container = resolvedConfiguration.container ?? .default()
        guard try container.line.settings().accountToken != nil else { throw .needsAccount }
        return Conversation(
            line: container.line, scope: .public, patience: Patience(resolvedConfiguration, quality: builtInQuality), group: group?.note)
    }
}

extension CKUserIdentity {
    /// A user that the server found.
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
