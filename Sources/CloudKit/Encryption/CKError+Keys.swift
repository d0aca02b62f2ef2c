import Foundation

/// The errors of keys of encrypted values. On this server: CloudKit's systems have their keys elsewhere.
extension CKError {
    static let enrolment =
        "Run 'nacre keys enrol' here and 'nacre keys approve' on a device that has keys; or 'nacre keys enrol --recovery' with the 24 words"

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
            details: [.remedy: "\(reason). Nothing was changed. Ask the server's operator, and compare 'nacre keys fingerprint' on your devices"])
    }

    /// The server's tree of logs does not verify, does not extend what this device has seen, or lacks the log.
    /// - Parameter reason: the fault.
    static func treeRefused(_ reason: String) -> CKError {
        CKError(
            .internalError, text: "The server shows another tree of keys than this device may take",
            details: [
                .remedy: "\(reason). Nothing was changed. 'nacre keys status' prints what was seen: ask the server's operator. "
                    + "If the server was put back from a backup, run 'nacre keys trust-tree'"
            ])
    }

    /// The device keeps the accounts of as many other users as it may.
    static func tooManyAccounts(user: String, most: Int) -> CKError {
        CKError(
            .internalError, text: "This device has seen keys of \(most) other users, which are the most, and takes none of '\(user)'",
            details: [.remedy: "Nothing was changed. 'nacre keys trust-tree' has this device forget all that it has seen of other accounts"])
    }

    static func tooManyZones(zone: String, most: Int) -> CKError {
        CKError(
            .internalError, text: "This device has seen keys of \(most) other zones, which are the most, and takes none of '\(zone)'",
            details: [.remedy: "Nothing was changed. 'nacre keys trust-tree' has this device forget all that it has seen of zones and accounts"])
    }

    /// The server says that the user has reset the keys, and no device of the account has signed a reset.
    static var resetIsNotSigned: CKError {
        CKError(
            .internalError, text: "The server says that encrypted data was reset, and no device of the user has signed that",
            details: [
                .remedy: "Keep the app's data. Nothing was changed. Ask the server's operator, and the user whether a device ran 'nacre keys reset'"
            ])
    }

    /// Other devices changed the keys each time.
    static var keysAreBusy: CKError {
        CKError(.zoneBusy, text: "Other devices are changing the keys", retryAfter: 1)
    }

    /// The database or zone has no keys.
    static var noKeysHere: CKError {
        .malformed("Encrypted values are supported only in the user's own zones, and in what other users share")
    }

    /// The record moves into or out of a share of records, and its files do not.
    static func filesStayBehind(_ field: String) -> CKError {
        CKError(
            .invalidArguments, text: "The record moves into or out of a share of records, and its files are sealed for the place before",
            details: [.field: field, .remedy: "Set the assets of the field '\(field)' anew, with the files, and save the record"])
    }

    /// A new share of records has the name of an earlier one with keys, and another root.
    static func otherRoot(of share: String) -> CKError {
        .malformed(
            "An earlier share '\(share)' had another record at its root",
            remedy: "Give the new share another record name: the keys of a share are for one root")
    }

    /// The zone is another user's, and has no keys yet.
    static var noKeysOfZone: CKError {
        .malformed("The zone's owner has made no keys for encrypted values of its participants")
    }

    /// The zone is another user's, whose devices have not signed this user as a participant, or not yet.
    static var noKeysOfShare: CKError {
        CKError(
            .accountTemporarilyUnavailable, text: "The zone's owner has not given this user the keys of its encrypted values yet",
            details: [
                .remedy: "A device of the owner does that when it next saves or fetches the share, or saves an encrypted value. "
                    + "Who came by a link accepts its whole URL, with all behind #, or asks for the newest one"
            ])
    }

    /// The secret of a link opens no key that counts: the link has ended, or the server has another key in its place.
    static var linkOpensNothing: CKError {
        CKError(
            .accountTemporarilyUnavailable, text: "The link does not open the keys of the zone's encrypted values",
            details: [.remedy: "It has ended, or was used. Ask for the newest one"])
    }

    /// The signed list of participants does not let the user write.
    static var signedForReading: CKError {
        CKError(.permissionFailure, text: "The zone's owner has not signed that this user may write encrypted values")
    }

    static var noRandomness: CKError {
        CKError(.internalError, text: "The system gives no random bytes for a key")
    }

    // MARK: Commands

    /// A change of the account's keys is not possible on this device, or not now. Nothing was changed.
    static func keysUnchanged(_ text: String, remedy: String) -> CKError {
        CKError(.invalidArguments, text: text, details: [.remedy: remedy])
    }

    /// A device is removed, and zones still have keys that it has made.
    static func zonesNotTakenOver(_ zones: [String], from device: String) -> CKError {
        CKError(
            .internalError, text: "The device was removed, and the keys of these zones do not count any more: \(zones.joined(separator: ", "))",
            details: [.remedy: "Run 'nacre keys remove \(device)' again. The log tells why each was not taken over"])
    }

    static var accountHasNoKeys: CKError {
        .keysUnchanged("The account has no keys", remedy: "The first save of an encrypted value makes them")
    }

    static var deviceHasKeys: CKError {
        .keysUnchanged("This device has the account's keys", remedy: "'nacre keys status' shows them")
    }

    static var otherRecoveryWords: CKError {
        .keysUnchanged(
            "The 24 words are not those of the account now",
            remedy: "They are another account's, or 'nacre keys recovery --replace' or a reset has made new ones")
    }

    static func notRecoveryWords(_ reason: String) -> CKError {
        .keysUnchanged("The words are not 24 recovery words: \(reason)", remedy: "Type them in their order, as 'nacre keys recovery' has shown them")
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
