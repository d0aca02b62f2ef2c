import Foundation
import NacreCloudWire

// This file makes every `CKError` of the framework: from the server's error, from an unreadable answer, and from faults
// before anything was sent. Texts are static; values are in the user info.

extension CKError {
    /// The domain of the underlying error. Its code is the finer code that CloudKit's logs show behind a slash.
    static let internalErrorDomain = "CKInternalErrorDomain"

    /// The key of the server's text in an error of the server. Apple: undocumented; apps compare its text.
    static let serverTextKey = "ServerErrorDescription"

    /// This framework's keys in the user info, beside Apple's.
    enum DetailKey: String, CaseIterable {
        /// The record's field or the request's key at fault.
        case field = "CKErrorField"
        /// The remedy, in one line.
        case remedy = "CKErrorRemedy"
        /// The URL where a user can sign in.
        case redirectURL = "CKErrorRedirectURL"
    }

    var internalCode: Int? {
        (userInfo[NSUnderlyingErrorKey] as? NSError).flatMap { $0.domain == Self.internalErrorDomain ? $0.code : nil }
    }

    /// - Parameter text: a static text; values go into `details`.
    init(
        _ code: Code, text: String, internalCode: Int? = nil, details: [DetailKey: String] = [:], retryAfter: Double? = nil,
        underlying: NSError? = nil, records: [String: CKRecord] = [:], isServerText: Bool = false
    ) {
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: text]
        if isServerText { userInfo[Self.serverTextKey] = text }
        for (key, value) in details { userInfo[key.rawValue] = value }
        for (key, record) in records { userInfo[key] = record }
        if let retryAfter { userInfo[CKErrorRetryAfterKey] = NSNumber(value: retryAfter) }
        if let internalCode {
            userInfo[NSUnderlyingErrorKey] = NSError(
                domain: Self.internalErrorDomain, code: internalCode, userInfo: [NSLocalizedDescriptionKey: text])
        } else if let underlying {
            userInfo[NSUnderlyingErrorKey] = underlying
        }
        self.init(code, userInfo: userInfo)
    }

    // MARK: From the server

    /// Makes an error from the server's.
    ///
    /// The answer contains the framework's own code. If this version does not know it, the web's code counts.
    init(_ error: ServerError, records: [String: CKRecord] = [:]) {
        var details: [DetailKey: String] = [:]
        details[.field] = error.field
        details[.remedy] = error.remedy
        details[.redirectURL] = error.redirectURL
        self.init(
            Code(rawValue: error.nativeCode) ?? Code(error.code.native), text: error.reason, internalCode: error.internalCode, details: details,
            retryAfter: error.retryAfter.map(Double.init), records: records, isServerText: true)
        if error.reason == ServerError.encryptedDataResetReason {
            self = CKError(code, userInfo: userInfo.merging([CKErrorUserDidResetEncryptedDataKey: NSNumber(value: true)]) { old, _ in old })
        }
    }

    /// Whether the server says that the user has reset encrypted data.
    var tellsReset: Bool { (userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber)?.boolValue == true }

    /// Makes the server's error for a record that was to be saved. A conflict contains the three versions.
    ///
    /// - Parameters:
    ///   - encrypted: the encrypted values of the server's version; nil if they were not opened.
    ///   - server: the server's URL, with which the URLs of shares begin.
    init(_ error: ServerError, saving record: CKRecord, encrypted: EncryptedFields? = nil, server: URL? = nil) {
        guard error.nativeCode == NativeErrorCode.serverRecordChanged.rawValue else {
            self.init(error)
            return
        }
        var records = [
            CKRecordChangedErrorClientRecordKey: record,
            CKRecordChangedErrorAncestorRecordKey: record.ancestor,
        ]
        records[CKRecordChangedErrorServerRecordKey] = error.serverRecord.map {
            CKRecord.make(wire: $0.value, recordID: record.recordID, encrypted: encrypted, server: server)
        }
        self.init(error, records: records)
    }

    /// Makes the error for an answer that is not this server's error, but that of a proxy or of another server.
    /// - Parameters:
    ///   - headers: those of the answer, with lower-case names.
    ///   - server: the server's configured URL, for the remedy.
    static func unreadable(status: Int, retryAfter: Double?, headers: [String: String] = [:], at server: URL? = nil) -> CKError {
        let code: Code =
            switch status {
            case 401, 421: .notAuthenticated
            case 403: .permissionFailure
            case 413: .limitExceeded
            case 429: .requestRateLimited
            case 502, 503, 504: .serviceUnavailable
            case 400..<500: .serverRejectedRequest
            default: .internalError
            }
        let answer = NSError(domain: "HTTP", code: status, userInfo: [:])
        let found = (["status \(status)"] + ["content-type", "server"].compactMap { headers[$0] }).joined(separator: ", ")
        var remedy = "The answer (\(found)) is not a CloudKit server's"
        if code != .serviceUnavailable, code != .requestRateLimited {
            remedy += ": check CLOUDKIT_SERVER_URL" + (server.map { ", which is \($0.shownStart)" } ?? "")
        }
        return CKError(
            code, text: "The server's answer could not be read", details: [.remedy: remedy], retryAfter: retryAfter, underlying: answer)
    }

    /// Returns the error with a remedy that names the server's version, if it is not this framework's and the server
    /// does not understand the request, or the framework not the answer.
    /// - Parameter version: the version that the answer bears; nil: it bears none.
    func naming(version: String?) -> CKError {
        guard let version, version != ServerVersion.current, code == .serverRejectedRequest || code == .internalError else { return self }
        let key = DetailKey.remedy.rawValue
        let old = (userInfo[key] as? String).map { $0 + " " } ?? ""
        var userInfo = userInfo
        userInfo[key] =
            old + "The server is of version \(version.prefix(40)) and this framework of \(ServerVersion.current): use the same version of both."
        return CKError(code, userInfo: userInfo)
    }

    // MARK: From the framework

    init(_ fault: ValueFault) {
        self.init(
            .invalidArguments, text: "\(fault.reason.text): '\(fault.key)'", internalCode: 1017,
            details: [.field: fault.key, .remedy: fault.reason.remedy])
    }

    /// - Parameter text: the fault in the app's request.
    static func malformed(_ text: String, remedy: String? = nil) -> CKError {
        var details: [DetailKey: String] = [:]
        details[.remedy] = remedy
        return CKError(.invalidArguments, text: text, internalCode: 1017, details: details)
    }

    static var cancelled: CKError {
        CKError(.operationCancelled, text: "The operation was cancelled", internalCode: 1182)
    }

    static var failedWithItsBatch: CKError {
        CKError(.batchRequestFailed, text: "Another item of the atomic batch failed", internalCode: 2024)
    }

    static var needsAccount: CKError {
        CKError(
            .notAuthenticated, text: "This request requires an authenticated account", internalCode: 1002,
            details: [.remedy: ServerSetting.accountToken.remedy])
    }

    static var nobodyAsks: CKError {
        CKError(
            .permissionFailure, text: "Nothing asks the user for the permission",
            details: [.remedy: "Call CloudKitServer.setPermissionPrompt with what shows the user the question"])
    }

    static var cannotHash: CKError {
        CKError(.serverRejectedRequest, text: "E-mail addresses cannot be hashed on this platform, and are not sent as they are")
    }

    static func tooManyItems(count: Int, maximum: Int) -> CKError {
        CKError(
            .limitExceeded,
            text: "Your request contains \(count) items which is more than the maximum number of items in a single request (\(maximum))",
            internalCode: 1020)
    }

    static func tooManyBytes(count: Int, maximum: Int) -> CKError {
        CKError(
            .limitExceeded, text: "Your request contains \(count) bytes which is more than the maximum size of a single request (\(maximum))",
            internalCode: 1020)
    }

    static var tokenOfAnotherService: CKError {
        CKError(
            .changeTokenExpired, text: "Another service made the change token", internalCode: 2026,
            details: [.remedy: "Drop what you cached, and fetch again without a token"])
    }

    /// - Parameter key: the field with the asset.
    static func assetFileNotFound(_ key: String) -> CKError {
        CKError(.assetFileNotFound, text: "The asset's file is not there", details: [.field: key])
    }

    static func assetNotReadable(_ key: String) -> CKError {
        CKError(
            .assetNotAvailable, text: "The asset's file cannot be read",
            details: [.field: key, .remedy: "Give a regular file that this process may read"])
    }

    static func assetNotImported(_ key: String) -> CKError {
        CKError(
            .assetNotAvailable, text: "The asset's bytes are in no photo library of this machine",
            details: [.field: key, .remedy: "Write them into a file, and use CKAsset(fileURL:)"])
    }

    static func assetFileModified(_ key: String) -> CKError {
        CKError(
            .assetFileModified, text: "The asset's file changed while it was saved",
            details: [.field: key, .remedy: "Leave the file as it is until the save has ended, and save again"])
    }

    static func assetGone(_ key: String) -> CKError {
        CKError(.assetNotAvailable, text: "The server does not have the asset's bytes", details: [.field: key])
    }

    /// A fetched asset cannot be stored on this machine.
    static func assetNotKept(_ cause: NSError) -> CKError {
        CKError(.assetNotAvailable, text: "The asset's bytes cannot be kept on this machine", underlying: cause)
    }

    static var ownZoneInSharedDatabase: CKError {
        CKError(
            .invalidArguments, text: "Only shared zones can be accessed in the shared DB", internalCode: 1017,
            details: [.field: "zoneID", .remedy: "Use the private database for the user's own zones, and a shared zone's ownerName in the other"])
    }

    static var zonesAreForPrivateDatabases: CKError {
        CKError(.badDatabase, text: "Only private databases can have custom zones")
    }

    /// - Parameter text: for example "Failed to modify some records".
    static func partial(_ text: String, _ errors: [AnyHashable: any Error]) -> CKError {
        var userInfo = CKError(.partialFailure, text: text, internalCode: 1011).userInfo
        userInfo[CKPartialErrorsByItemIDKey] = errors
        return CKError(.partialFailure, userInfo: userInfo)
    }

    /// A setting that requests need is missing.
    static func missing(_ setting: ServerSetting) -> CKError {
        CKError(.badContainer, text: setting.problem, details: [.remedy: setting.remedy])
    }

    /// The server's URL was found, and is none.
    static func badServerURL(_ found: String) -> CKError {
        let shown = String(found.prefix(200))
        let isWithoutScheme = !found.contains("://") && URL(string: "http://" + found)?.host != nil
        return CKError(
            .badContainer, text: "The CloudKit server's URL is not an HTTP URL",
            details: [
                .remedy: isWithoutScheme
                    ? "'\(shown)' has no scheme: set CLOUDKIT_SERVER_URL to https://\(shown), or to http://\(shown) if it speaks plain HTTP"
                    : "'\(shown)' was found: set CLOUDKIT_SERVER_URL to a URL with http:// or https:// and a host"
            ])
    }

    /// The answer is well-formed, but does not fit the request.
    static var unexpectedAnswer: CKError {
        CKError(.internalError, text: "The server's answer does not fit the request")
    }

    /// Makes the error of a failed attempt that is not repeated.
    init(_ failure: TransportFailure) {
        switch failure {
        case .notSent(let cause):
            self.init(.networkUnavailable, text: "The server could not be reached", details: Self.remedy(for: cause), underlying: cause)
        case .answerLost(let cause):
            self.init(.networkFailure, text: "The connection to the server failed", details: Self.remedy(for: cause), underlying: cause)
        case .fileFailed(let cause): self = .assetNotKept(cause)
        case .cancelled: self = .cancelled
        }
    }

    private static func remedy(for cause: NSError) -> [DetailKey: String] {
        guard let remedy = cause.userInfo[NSLocalizedRecoverySuggestionErrorKey] as? String else { return [:] }
        return [.remedy: remedy]
    }

    static func lostResponse(retryAfter: Double? = nil) -> CKError {
        CKError(
            .serverResponseLost, text: "The server's response was lost; whether the change was made is unknown", retryAfter: retryAfter)
    }
}

extension CKError.Code {
    /// Converts a wire code. Both enumerations have the same raw values, so the conversion always succeeds.
    init(_ native: NativeErrorCode) {
        self = CKError.Code(rawValue: native.rawValue) ?? .internalError
    }
}

extension URL {
    /// The URL for an error's text, without its query, its user and what does not fit a line.
    var shownStart: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: false) else { return "" }
        (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
        return String((parts.string ?? "").prefix(200))
    }
}
