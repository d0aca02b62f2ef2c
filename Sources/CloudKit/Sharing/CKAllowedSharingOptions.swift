public import Foundation
import NacreLocks

/// The permissions that a sharing user may choose for participants. Apple: iOS 16.
public struct CKSharingParticipantPermissionOption: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Participants may read.
    public static var readOnly: CKSharingParticipantPermissionOption { CKSharingParticipantPermissionOption(rawValue: 1) }
    /// Participants may read and change.
    public static var readWrite: CKSharingParticipantPermissionOption { CKSharingParticipantPermissionOption(rawValue: 2) }
    /// Both; the user chooses.
    public static var any: CKSharingParticipantPermissionOption { [.readOnly, .readWrite] }
}

/// The people whom a sharing user may choose to let in. Apple: iOS 16.
public struct CKSharingParticipantAccessOption: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Anyone who has the share's URL.
    public static var anyoneWithLink: CKSharingParticipantAccessOption { CKSharingParticipantAccessOption(rawValue: 1) }
    /// Only invited participants.
    public static var specifiedRecipientsOnly: CKSharingParticipantAccessOption { CKSharingParticipantAccessOption(rawValue: 2) }
    /// Both; the user chooses.
    public static var any: CKSharingParticipantAccessOption { [.anyoneWithLink, .specifiedRecipientsOnly] }
}

/// The choices that an app leaves to a sharing user. Linux has no sharing interface of the system, so the app's own one
/// reads them. The server does not know them.
///
/// Two objects are equal if they allow the same. Apple: iOS 16.
open class CKAllowedSharingOptions: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: mutable state is in `Locked`.

    private struct Choices: Hashable {
        var permissions: CKSharingParticipantPermissionOption.RawValue
        var access: CKSharingParticipantAccessOption.RawValue
        var allowsInvitations = false
        var allowsRequests = false
    }

    private let choices: Locked<Choices>

    /// Allows these permissions and these kinds of access.
    public init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption, allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        choices = Locked(Choices(permissions: allowedParticipantPermissionOptions.rawValue, access: allowedParticipantAccessOptions.rawValue))
        super.init()
    }

    private init(_ choices: Choices) {
        self.choices = Locked(choices)
        super.init()
    }

    /// The permissions that the user may give.
    open var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { CKSharingParticipantPermissionOption(rawValue: choices.withLock(\.permissions)) }
        set { choices.withLock { $0.permissions = newValue.rawValue } }
    }

    /// The people whom the user may let in.
    open var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { CKSharingParticipantAccessOption(rawValue: choices.withLock(\.access)) }
        set { choices.withLock { $0.access = newValue.rawValue } }
    }

    /// Whether participants may invite others; false by default. Apple: iOS 26.
    open var allowsParticipantsToInviteOthers: Bool {
        get { choices.withLock(\.allowsInvitations) }
        set { choices.withLock { $0.allowsInvitations = newValue } }
    }

    /// Whether people may ask for access; false by default. Apple: iOS 26.
    open var allowsAccessRequests: Bool {
        get { choices.withLock(\.allowsRequests) }
        set { choices.withLock { $0.allowsRequests = newValue } }
    }

    /// Options that allow any access with any permission. A new object each time, which can be changed without effect
    /// on others.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(allowedParticipantPermissionOptions: .any, allowedParticipantAccessOptions: .any)
    }

    open func copy(with zone: NSZone? = nil) -> Any { CKAllowedSharingOptions(choices.withLock { $0 }) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKAllowedSharingOptions else { return false }
        return choices.withLock { $0 } == other.choices.withLock { $0 }
    }

    // The hash must not change with the options, which may change while the object is in a set.
    open override var hash: Int { 0 }

    // MARK: NSSecureCoding

    private enum Key {
        static let permissions = "AllowedParticipantPermissionOptions"
        static let access = "AllowedParticipantAccessOptions"
        static let allowsInvitations = "AllowsParticipantsToInviteOthers"
        static let allowsRequests = "AllowsAccessRequests"
    }

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        choices = Locked(
            Choices(
                permissions: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: Key.permissions)),
                access: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: Key.access)),
                allowsInvitations: coder.decodeBool(forKey: Key.allowsInvitations), allowsRequests: coder.decodeBool(forKey: Key.allowsRequests)))
        super.init()
    }

    open func encode(with coder: NSCoder) {
        let choices = choices.withLock { $0 }
        coder.encode(Int64(truncatingIfNeeded: choices.permissions), forKey: Key.permissions)
        coder.encode(Int64(truncatingIfNeeded: choices.access), forKey: Key.access)
        coder.encode(choices.allowsInvitations, forKey: Key.allowsInvitations)
        coder.encode(choices.allowsRequests, forKey: Key.allowsRequests)
    }
}
