import NacreCloudWire

/// Fetches a web auth token, which a web page needs beside an API token of the container to act for the user. Apple:
/// iOS 9.2.
///
/// On this server: only the private database provides it. The token has the lifetime of one from a page's sign-in, and
/// ends when this device is signed out.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `token`.

    /// An API token of the database's container and environment: made by `nacre token create --kind api`.
    open var apiToken: String?
    /// Called last, with the token or with the reason why there is none.
    open var fetchWebAuthTokenResultBlock: ((_ operationResult: Result<String, any Error>) -> Void)?
    /// The old form; not called if `fetchWebAuthTokenResultBlock` is set. Apple: deprecated in iOS 15.
    open var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)?

    private var token: String?

    public override init() {
        super.init()
    }

    /// Makes an operation that fetches the token to use beside this API token.
    public convenience init(apiToken APIToken: String) {
        self.init()
        apiToken = APIToken
    }

    override func run() async throws(CKError) {
        guard let apiToken, !apiToken.isEmpty else { throw .needsAPIToken }
        guard effectiveDatabase.databaseScope == .private else { throw .webAuthTokensArePrivate }
        let token = try await conversation.webAuthToken(WebAuthTokenRequest(apiToken: apiToken)).webAuthToken
        report { self.token = token }
    }

    override func deliver(_ error: CKError?) {
        let result: Result<String, any Error> = error.map { .failure($0) } ?? token.map { .success($0) } ?? .failure(CKError.unexpectedAnswer)
        if let fetchWebAuthTokenResultBlock {
            fetchWebAuthTokenResultBlock(result)
        } else {
            fetchWebAuthTokenCompletionBlock?(result.value, result.error)
        }
    }
}

extension CKError {
    fileprivate static var needsAPIToken: CKError {
        CKError(
            .invalidArguments, text: "The operation has no API token", internalCode: 1017,
            details: [.field: "apiToken", .remedy: "Make one: nacre token create --kind api"])
    }

    fileprivate static var webAuthTokensArePrivate: CKError {
        CKError(
            .badDatabase, text: "Web auth tokens are fetched from the private database",
            details: [.field: "database", .remedy: "Add the operation to container.privateCloudDatabase"])
    }
}
