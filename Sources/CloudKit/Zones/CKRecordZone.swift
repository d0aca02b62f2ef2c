public import Foundation
import NacreCloudWire
import NacreLocks

/// A part of a database that keeps records together. Batches in it can be all or nothing, and its changes can be
/// fetched.
///
/// Every database has a default zone. Private databases can have others, which must be saved before records can be
/// saved in them. Compares by identity. Apple: iOS 8.
open class CKRecordZone: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the constants are `let`s, and mutable state is in `Locked`.

    /// The capabilities of a zone on the server.
    public struct Capabilities: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// The zone's changes can be fetched.
        public static var fetchChanges: Capabilities { Capabilities(rawValue: 1 << 0) }
        /// A batch of changes in the zone can be all or nothing.
        public static var atomic: Capabilities { Capabilities(rawValue: 1 << 1) }
        /// Hierarchies of the zone's records can be shared.
        public static var sharing: Capabilities { Capabilities(rawValue: 1 << 2) }
        /// The zone can be shared as a whole.
        public static var zoneWideSharing: Capabilities { Capabilities(rawValue: 1 << 3) }
    }

    /// The scope of the keys of encrypted values. Apple: iOS 26.
    public enum EncryptionScope: Int, Sendable {
        /// Each record has keys of its own.
        case perRecord = 0
        /// Not supported on this server: saving the zone fails with `invalidArguments`.
        case perZone = 1
    }

    /// The zone's ID in its database.
    public let zoneID: CKRecordZone.ID
    /// The zone's capabilities; empty until the zone comes from the server.
    ///
    /// On this server: custom zones have `fetchChanges` and `atomic`, and in the private database also `sharing` and
    /// `zoneWideSharing`. The default zone has none.
    public let capabilities: Capabilities
    private let scopeOfEncryption: Locked<EncryptionScope>
    private let isSharedWhole: Bool

    init(zoneID: CKRecordZone.ID, capabilities: Capabilities, encryptionScope: EncryptionScope, isSharedWhole: Bool = false) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.isSharedWhole = isSharedWhole
        scopeOfEncryption = Locked(encryptionScope)
        super.init()
    }

    /// Makes a zone of the user's to be saved, by its name.
    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZone.ID(zoneName: zoneName))
    }

    /// Makes a zone to be saved, by its ID.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, capabilities: [], encryptionScope: .perRecord)
    }

    /// Returns the default zone, which needs no saving.
    open class func `default`() -> CKRecordZone {
        CKRecordZone(zoneID: .default)
    }

    /// The scope of encryption keys. Set it before the zone is saved for the first time.
    open var encryptionScope: EncryptionScope {
        get { scopeOfEncryption.withLock { $0 } }
        set { scopeOfEncryption.withLock { $0 = newValue } }
    }

    /// The share of a fetched zone that is shared as a whole: its record `CKRecordNameZoneWideShare`. Apple: iOS 15.
    ///
    /// On this server: nil in the result of a save, until the zone is fetched.
    open var share: CKRecord.Reference? {
        isSharedWhole ? CKRecord.Reference(recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: zoneID), action: .none) : nil
    }

    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZone(zoneID: zoneID, capabilities: capabilities, encryptionScope: encryptionScope, isSharedWhole: isSharedWhole)
    }

    open override var description: String { "<CKRecordZone: \(zoneID), capabilities=\(capabilities.rawValue)>" }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    public required init?(coder: NSCoder) {
        guard coder.containsValue(forKey: "zoneID"), let zoneID = coder.decodeObject(of: CKRecordZoneID.self, forKey: "zoneID") else {
            return nil
        }
        self.zoneID = zoneID
        capabilities = Capabilities(rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "capabilities")))
        scopeOfEncryption = Locked(EncryptionScope(rawValue: Int(coder.decodeInt64(forKey: "encryptionScope"))) ?? .perRecord)
        isSharedWhole = coder.decodeBool(forKey: "isSharedWhole")
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(zoneID, forKey: "zoneID")
        coder.encode(Int64(truncatingIfNeeded: capabilities.rawValue), forKey: "capabilities")
        coder.encode(Int64(encryptionScope.rawValue), forKey: "encryptionScope")
        if isSharedWhole { coder.encode(true, forKey: "isSharedWhole") }
    }
}

extension CKRecordZone {
    /// Makes a zone from the server's answer.
    convenience init(wire zone: Zone, id: CKRecordZone.ID, in scope: CKDatabase.Scope) {
        var capabilities: Capabilities = []
        if !zone.zoneID.isDefault && scope != .public {
            capabilities.insert(.fetchChanges)
            if zone.atomic { capabilities.insert(.atomic) }
            if scope == .private { capabilities.formUnion([.sharing, .zoneWideSharing]) }
        }
        self.init(zoneID: id, capabilities: capabilities, encryptionScope: .perRecord, isSharedWhole: zone.isSharedWhole)
    }
}
