import NacreCloudWire

/// Makes participants, who can be added to shares, from addresses, phone numbers and user record IDs.
///
/// A person without an account can be invited too. A discoverable user's participant has the user record ID and names.
/// Addresses and numbers leave the app hashed for the lookup, and in plain text when the share is saved. On this
/// server: a phone number needs its country code. Apple: iOS 10.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The people to look up.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?
    /// Called once for each lookup info.
    open var perShareParticipantResultBlock:
        ((_ lookupInfo: CKUserIdentity.LookupInfo, _ shareParticipantResult: Result<CKShare.Participant, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked.
    open var fetchShareParticipantsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `perShareParticipantResultBlock` is set. Apple: deprecated in iOS 15.
    open var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)?
    /// The old form; not called if `fetchShareParticipantsResultBlock` is set. Apple: deprecated in iOS 15.
    open var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)?

    typealias Results = [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>]

    private var results: Results = [:]
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public override init() {
        super.init()
    }

    /// Makes an operation that looks up these people. Apple: iOS 10.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    override func run() async throws(CKError) {
        let conversation = try userConversation()
        var seen: Set<CKUserIdentity.LookupInfo> = []
        let infos = (userIdentityLookupInfos ?? []).filter { seen.insert($0).inserted }
        var found: [CKUserIdentity.LookupInfo: CKUserIdentity] = [:]
        try await conversation.discover(infos) { found[$1] = $0 }
        for info in infos {
            if let number = info.phoneNumber, PhoneNumber.normalised(number) == nil {
                callBack(info, .failure(.phoneNeedsCountry))
            } else {
                callBack(info, .success(CKShareParticipant(inviting: found[info] ?? CKUserIdentity(invitedBy: info))))
            }
        }
    }

    private func callBack(_ info: CKUserIdentity.LookupInfo, _ result: Result<CKShare.Participant, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results[info] = result
            if let perShareParticipantResultBlock {
                perShareParticipantResultBlock(info, result)
            } else if let participant = result.value {
                shareParticipantFetchedBlock?(participant)
            }
        }
    }

    override func deliver(_ error: CKError?) {
        if let fetchShareParticipantsResultBlock {
            fetchShareParticipantsResultBlock(Result(error))
        } else {
            let failures = results.reduce(into: [AnyHashable: any Error]()) { failures, item in failures[item.key] = item.value.error }
            fetchShareParticipantsCompletionBlock?(error ?? .partial("Failed to make some participants", of: failures))
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}

extension CKUserIdentity {
    /// Makes the identity of a person of whom only the lookup info is known.
    fileprivate convenience init(invitedBy info: CKUserIdentity.LookupInfo) {
        self.init(userRecordID: info.userRecordID, lookupInfo: info, nameComponents: nil, hasiCloudAccount: false)
    }
}

extension CKError {
    fileprivate static var phoneNeedsCountry: CKError {
        CKError(.invalidArguments, text: "A phone number has a plus sign and the code of its country, as in +49 30 1234567")
    }
}
