import NacreCloudWire

/// Accepts shares: their zones are in the shared database from then on. Accepting a share again changes nothing.
///
/// On this server: if the metadata are of a URL with the secret of a link, the account takes the keys of the zone's
/// encrypted values by it. An error on that way is in the log; accepting again by the whole URL tries again. Apple: iOS
/// 10.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The shares to accept, all of the operation's container.
    open var shareMetadatas: [CKShare.Metadata]?
    /// Called once for each share.
    open var perShareResultBlock: ((_ metadata: CKShare.Metadata, _ metadataResult: Result<CKShare, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if shares failed.
    open var acceptSharesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `perShareResultBlock` is set. Apple: deprecated in iOS 15.
    open var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
    /// The old form; not called if `acceptSharesResultBlock` is set. Apple: deprecated in iOS 15.
    open var acceptSharesCompletionBlock: (((any Error)?) -> Void)?

    typealias Results = [CKShare.Metadata: Result<CKShare, any Error>]

    private var results: Results = [:]
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public override init() {
        super.init()
    }

    /// Makes an operation that accepts the shares of these metadata. Apple: iOS 10.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    override func run() async throws(CKError) {
        let conversation = try userConversation()
        let container = try conversation.line.settings().container
        var seen: Set<CKShare.Metadata> = []
        var asked: [CKShare.Metadata] = []
        for metadata in shareMetadatas ?? [] where seen.insert(metadata).inserted {
            if metadata.containerIdentifier == container { asked.append(metadata) } else { callBack(metadata, .failure(.otherContainer)) }
        }
        var rest = asked[...]
        while !rest.isEmpty {
            let some = rest.prefix(Limits.sharesPerRequest)
            rest = rest.dropFirst(some.count)
            let request = SharesRequest(shortGUIDs: some.map { SharesRequest.Item(value: $0.shortGUID) })
            for (metadata, result) in zip(some, try await conversation.accept(request).results) {
                let share = Result { () throws(CKError) in try conversation.metadata(result, link: nil).share }
                if case .success(let share) = share { await conversation.join(share, by: metadata.link) }
                callBack(metadata, share)
            }
        }
    }

    private func callBack(_ metadata: CKShare.Metadata, _ result: Result<CKShare, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results[metadata] = result
            if let perShareResultBlock {
                perShareResultBlock(metadata, result)
            } else {
                perShareCompletionBlock?(metadata, result.value, result.error)
            }
        }
    }

    override func deliver(_ error: CKError?) {
        if let acceptSharesResultBlock {
            acceptSharesResultBlock(Result(error))
        } else {
            let failures = results.reduce(into: [AnyHashable: any Error]()) { failures, item in
                failures[item.key.share.recordID] = item.value.error
            }
            acceptSharesCompletionBlock?(error ?? .partial("Failed to accept some shares", of: failures))
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}

extension CKError {
    fileprivate static var otherContainer: CKError { CKError(.badContainer, text: "The share is of another container than the operation") }
}
