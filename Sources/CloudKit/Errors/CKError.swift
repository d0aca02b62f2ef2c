// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The domain of `CKError`.
public let CKErrorDomain: String = "CKErrorDomain"
/// In `partialFailure`: a dictionary from record IDs or zone IDs to errors.
public let CKPartialErrorsByItemIDKey: String = "CKPartialErrors"
/// In `serverRecordChanged`: the record that the edit was based on; without fields if it was never fetched.
public let CKRecordChangedErrorAncestorRecordKey: String = "AncestorRecord"
/// In `serverRecordChanged`: what the server has. Merge into it and save it.
public let CKRecordChangedErrorServerRecordKey: String = "ServerRecord"
/// In `serverRecordChanged`: what was sent.
public let CKRecordChangedErrorClientRecordKey: String = "ClientRecord"
/// In any error: an `NSNumber`, the seconds to wait before trying again.
public let CKErrorRetryAfterKey: String = "CKRetryAfter"
/// In `zoneNotFound`: an `NSNumber`, true when the user reset their encrypted data.
public let CKErrorUserDidResetEncryptedDataKey: String = "CKUserDidResetEncryptedData"

/// Why an operation, or a part of it, failed. Every error of this framework is one.
///
/// Its `description` carries what a developer needs: the code's name, code and finer code, what the server said and, for a partial failure,
/// each item's error. Compares by code and user info. Apple: iOS 8.
public struct CKError: Error, CustomNSError, Hashable, Sendable {
    public let _nsError: NSError

    /// - Parameter error: of `CKErrorDomain`; a code that `CKError.Code` does not have reads as `internalError`.
    public init(_nsError error: NSError) {
        _nsError = error
    }

    /// An error as the framework makes it, for an app's own tests.
    public init(_ code: CKError.Code, userInfo: [String: Any] = [:]) {
        self.init(_nsError: NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo))
    }

    /// `CKErrorDomain`.
    public static var errorDomain: String { CKErrorDomain }

    /// What kind of failure it is.
    public var code: CKError.Code { CKError.Code(rawValue: _nsError.code) ?? .internalError }
    /// The code as a number.
    public var errorCode: Int { _nsError.code }
    /// As `userInfo`.
    public var errorUserInfo: [String: Any] { _nsError.userInfo }
    /// What else there is to say, under the framework's keys and Foundation's.
    public var userInfo: [String: Any] { _nsError.userInfo }
    /// A sentence for people.
    public var localizedDescription: String { _nsError.localizedDescription }

    // MARK: What the user info says

    /// The errors of single items, in a `partialFailure`.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// The record that the edit was based on, in a `serverRecordChanged`.
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }
    /// What the server has, in a `serverRecordChanged`.
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }
    /// What was sent, in a `serverRecordChanged`.
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
