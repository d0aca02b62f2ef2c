// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The domain of `CKError`.
public let CKErrorDomain: String = "CKErrorDomain"
/// The key of a `partialFailure`'s dictionary from record IDs or zone IDs to errors.
public let CKPartialErrorsByItemIDKey: String = "CKPartialErrors"
/// The key of a `serverRecordChanged`'s record that the edit was based on; without fields if it was never fetched.
public let CKRecordChangedErrorAncestorRecordKey: String = "AncestorRecord"
/// The key of a `serverRecordChanged`'s server version. Merge into it and save it.
public let CKRecordChangedErrorServerRecordKey: String = "ServerRecord"
/// The key of a `serverRecordChanged`'s record as it was sent.
public let CKRecordChangedErrorClientRecordKey: String = "ClientRecord"
/// The key of an `NSNumber` in any error: the seconds to wait before trying again.
public let CKErrorRetryAfterKey: String = "CKRetryAfter"
/// The key of an `NSNumber` in a `zoneNotFound`: true if the user reset their encrypted data.
public let CKErrorUserDidResetEncryptedDataKey: String = "CKUserDidResetEncryptedData"

/// The reason why an operation, or a part of it, failed. Every error of this framework is a `CKError`.
///
/// Its `description` has the details for developers: the code's name, code and finer code, the server's text and, for a
/// partial failure, each item's error. Compares by code and user info. Apple: iOS 8.
public struct CKError: Error, CustomNSError, Hashable, Sendable {
    public let _nsError: NSError

    /// - Parameter error: an error of `CKErrorDomain`. A code that `CKError.Code` lacks is read as `internalError`.
    public init(_nsError error: NSError) {
        _nsError = error
    }

    /// Makes an error like those of the framework, for an app's own tests.
    public init(_ code: CKError.Code, userInfo: [String: Any] = [:]) {
        self.init(_nsError: NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo))
    }

    /// `CKErrorDomain`.
    public static var errorDomain: String { CKErrorDomain }

    /// The kind of the failure.
    public var code: CKError.Code { CKError.Code(rawValue: _nsError.code) ?? .internalError }
    /// The code as a number.
    public var errorCode: Int { _nsError.code }
    /// The same as `userInfo`.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }
    /// Further details, under the framework's keys and Foundation's.
    public var userInfo: [String: Any] { _nsError.userInfo }
    /// A sentence for the user.
    public var localizedDescription: String { _nsError.localizedDescription }

    // MARK: Values of the user info

    /// The errors of single items in a `partialFailure`.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// The record that the edit was based on, in a `serverRecordChanged`.
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }
    /// The server's version, in a `serverRecordChanged`.
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }
    /// The record as it was sent, in a `serverRecordChanged`.
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }

    /// Seconds to wait before trying again.
    public var retryAfterSeconds: Double? { (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue }

    public static func == (left: CKError, right: CKError) -> Bool {
        left._nsError.isEqual(right._nsError)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(errorCode)
    }
}
