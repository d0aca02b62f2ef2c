public import Foundation
import NacreCloudWire

/// Asks the owners and administrators of shares to let the current user in, by the shares' URLs. Asking again changes
/// nothing. Apple: iOS 26.
///
/// The owners and administrators learn the name of the user's account and its verified e-mail address or phone number.
/// A URL fails with `participantAlreadyInvited` if the user may take part without asking. It fails with
/// `participantMayNeedVerification` if the account has no verified address or number. If the share takes no requests,
/// it fails as if there were no share.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The URLs of the shares, in the form of `CKShare.url`.
    open var shareURLs: [URL]?
    /// Called once for each URL.
    open var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if URLs failed.
    open var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)?

    typealias Results = [URL: Result<Void, any Error>]

    private var results: Results = [:]
    /// Receives the results; set by the single-call function.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public override init() {
        super.init()
    }

    /// Makes an operation that asks for access to the shares of these URLs. Apple: iOS 26.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    override func run() async throws(CKError) {
        let conversation = try userConversation()
        let (named, others) = ShareURL.sorted(shareURLs)
        for url in others { callBack(url, .notShareURL(url)) }
        var rest = named[...]
        while !rest.isEmpty {
            let asked = rest.prefix(Limits.sharesPerRequest)
            rest = rest.dropFirst(asked.count)
            let request = SharesRequest(shortGUIDs: asked.map { SharesRequest.Item(value: $0.guid) })
            for (url, result) in zip(asked.map { $0.url }, try await conversation.requestAccess(request).results) {
                callBack(url, result.error.map { CKError($0) })
            }
        }
    }

    private func callBack(_ url: URL, _ error: CKError?) {
        report { [self] in
            let result: Result<Void, any Error> = Result(error)
            results[url] = result
            perShareAccessRequestResultBlock?(url, result)
        }
    }

    override func deliver(_ error: CKError?) {
        shareAccessRequestResultBlock?(Result(error))
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}
