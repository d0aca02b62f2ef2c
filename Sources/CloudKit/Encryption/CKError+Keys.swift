import Foundation

/// The errors of keys of encrypted values. On this server: CloudKit's systems have their keys elsewhere.
extension CKError {
    private static let enrolment =
        "Run 'nacre keys enrol' here, and confirm it on a device that has keys; or run 'nacre keys recovery' with the 24 words"

    /// The account has keys, and this device is not among its devices. CloudKit: an account whose user has to do
    /// something before its data can be used is temporarily unavailable. Apps keep their data, and wait.
    static func deviceHasNoKeys(wasRemoved: Bool) -> CKError {
        CKError(
            .accountTemporarilyUnavailable,
            text: wasRemoved
                ? "This device was removed from those that open the account's encrypted values"
                : "This device has no keys for the account's encrypted values",
            details: [.remedy: enrolment])
    }

    /// The server's log of keys or scope does not verify, or does not extend what this device has seen.
    /// - Parameter reason: the fault.
    static func keysRefused(_ reason: String) -> CKError {
        CKError(
            .internalError, text: "The server shows other keys than this device may take",
            details: [.remedy: "\(reason). Nothing was changed. Ask the server's operator, and compare 'nacre keys list' on your devices"])
    }

    /// Other devices changed the keys each time.
    static var keysAreBusy: CKError {
        CKError(.zoneBusy, text: "Other devices are changing the keys", retryAfter: 1)
    }

    /// The database or zone has no keys of the user's own.
    static var noKeysHere: CKError {
        .malformed("Encrypted values are supported only in the user's own zones of the private database by this version")
    }

    static var noRandomness: CKError {
        CKError(.internalError, text: "The system gives no random bytes for a key")
    }

    // MARK: Files

    /// A file of keys cannot be read or written.
    static func keysNotKept(_ cause: NSError?, at path: String) -> CKError {
        CKError(
            .internalError, text: "The keys of this device cannot be kept",
            details: [.remedy: "\(path) must be a file that this user can read and write"], underlying: cause)
    }

    static func keysNotKept(_ code: Int32, at path: String) -> CKError {
        .keysNotKept(NSError(domain: NSPOSIXErrorDomain, code: Int(code), userInfo: [:]), at: path)
    }

    static func keysAreOpen(at path: String) -> CKError {
        CKError(
            .internalError, text: "The keys of this device can be read by other users",
            details: [.remedy: "Remove this device's keys from the account if others may have read them; otherwise: chmod 600 '\(path)'"])
    }

    static func keysUnreadable(at path: String) -> CKError {
        CKError(
            .internalError, text: "The file with this device's keys is damaged",
            details: [.remedy: "Put \(path) back from a backup, or move it away and enrol this device anew. \(enrolment)"])
    }
}
