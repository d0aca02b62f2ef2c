import Foundation

/// The encoded form of an error that ended a request or a file transfer, in a journal.
struct KeptError: Codable {
    private struct Cause: Codable {
        var domain: String
        var code: Int
        var texts: [String: String]
    }

    private var code: Int
    private var texts: [String: String]
    private var numbers: [String: Double]
    private var cause: Cause?

    init(_ error: CKError) {
        code = error.errorCode
        texts = error.userInfo.compactMapValues { $0 as? String }
        numbers = error.userInfo.compactMapValues { ($0 as? NSNumber)?.doubleValue }
        if let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError {
            cause = Cause(domain: underlying.domain, code: underlying.code, texts: underlying.userInfo.compactMapValues { $0 as? String })
        }
    }

    var error: CKError {
        var userInfo: [String: Any] = texts
        for (key, number) in numbers { userInfo[key] = NSNumber(value: number) }
        if let cause { userInfo[NSUnderlyingErrorKey] = NSError(domain: cause.domain, code: cause.code, userInfo: cause.texts) }
        return CKError(_nsError: NSError(domain: CKErrorDomain, code: code, userInfo: userInfo))
    }
}
