public import Foundation
import NacreCloudWire

/// Fetches the current user's metadata of shares by their URLs.
///
/// `unknownItem` does not distinguish an unknown share from one that is not for the user; each URL has its own error.
/// The error is `participantMayNeedVerification` if the invitation is for an unverified address of the user's account.
/// Apple: iOS 10.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The URLs of the shares, in the form of `CKShare.url`.
    open var shareURLs: [URL]?
    /// Whether to fetch the root record of the shared hierarchy. It has no effect if a whole zone is shared.
    open var shouldFetchRootRecord = false
    /// The fields of the root record to fetch; nil for all. It has no effect if the root record is not fetched.
    open var rootRecordDesiredKeys: [CKRecord.FieldKey]?
    /// Called once for each URL.
    open var perShareMetadataResultBlock: ((_ shareURL: URL, _ shareMetadataResult: Result<CKShare.Metadata, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if URLs failed.
    open var fetchShareMetadataResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `perShareMetadataResultBlock` is set. Apple: deprecated in iOS 15.
    open var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
    /// The old form; not called if `fetchShareMetadataResultBlock` is set. Apple: deprecated in iOS 15.
    open var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)?

    typealias Results = [URL: Result<CKShare.Metadata, any Error>]

    private var results: Results = [:]
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public override init() {
        super.init()
    }

    /// Makes an operation that fetches the metadata behind these URLs. Apple: iOS 10.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func run() async throws(CKError) {
        let conversation = try userConversation()
        let (named, others) = ShareURL.sorted(shareURLs)
        for url in others { callBack(url, .failure(.notShareURL(url))) }
        var rest = named[...]
        while !rest.isEmpty {
            let asked = rest.prefix(Limits.sharesPerRequest)
            rest = rest.dropFirst(asked.count)
            let request = SharesRequest(
                shortGUIDs: asked.map { share in
                    SharesRequest.Item(
                        value: share.guid, shouldFetchRootRecord: shouldFetchRootRecord,
                        rootRecordDesiredKeys: shouldFetchRootRecord ? rootRecordDesiredKeys : nil)
                })
            for (url, result) in zip(asked.map { $0.url }, try await conversation.resolve(request).results) {
                callBack(url, Result { () throws(CKError) in try conversation.metadata(result, link: ShareURL.link(in: url)) })
            }
        }
    }

    private func callBack(_ url: URL, _ result: Result<CKShare.Metadata, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results[url] = result
            if let perShareMetadataResultBlock {
                perShareMetadataResultBlock(url, result)
            } else {
                perShareMetadataBlock?(url, result.value, result.error)
            }
        }
    }

    override func deliver(_ error: CKError?) {
        if let fetchShareMetadataResultBlock {
            fetchShareMetadataResultBlock(Result(error))
        } else {
            let failures = results.reduce(into: [AnyHashable: any Error]()) { failures, item in failures[item.key] = item.value.error }
            fetchShareMetadataCompletionBlock?(error ?? .partial("Failed to fetch some share metadata", of: failures))
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}

extension CKError {
    static func notShareURL(_ url: URL) -> CKError {
        if ShareURL.isOfICloud(url) {
            return .malformed(
                "The share is in iCloud, and not on this container's server",
                remedy: "Open \(url.shownStart) on a device of Apple's, or ask for the CKShare.url of a share on this server")
        }
        return .malformed("A share's URL ends with /share/ and its identifier", remedy: "Pass CKShare.url as it was sent, not \(url.shownStart)")
    }
}
