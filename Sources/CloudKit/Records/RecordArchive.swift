import Foundation
import NacreCloudWire

/// The encoded form of a record's state: one property list under one key, which can be decoded without class names.
struct ArchivedRecord: Codable {
    /// The newest version. Version 1 has no assets, and version 2 no shares. An archive gets the lowest version for its
    /// content, so that old versions of the framework can read it.
    static let currentVersion = 3
    static let versionWithAssets = 2
    static let key = "nacre.record"

    struct Stamp: Codable {
        var time: Double
        var user: String
        var device: String?
    }

    struct Link: Codable {
        var recordName: String
        var action: String
        var zoneName: String?
        var zoneOwner: String?
    }

    var version = currentVersion
    var recordType: String
    var recordName: String
    var zoneName: String
    var zoneOwner: String
    var recordChangeTag: String?
    var created: Stamp?
    var modified: Stamp?
    var parent: Link?
    var fetchedParent: Link?
    var share: Link?
    var fields: [String: ArchivedValue]
    var fetchedFields: [String: ArchivedValue]
    var changed: [String]
    var faults: [String: ValueFault]
    /// The encrypted values that were changed. Versions of the framework that do not read `secrets` refuse to save
    /// them.
    var encrypted: [String]
    /// The encrypted values; nil if there are none.
    var secrets: ArchivedSecrets?
    /// The values that no field can hold, as far as their parts can be encoded, and a parent that cannot be one.
    var held: [String: ArchivedValue]?
    var heldParent: Link?
    /// The data of a share; present from version 3 on.
    var sharing: ArchivedShare?
}

extension RecordState {
    /// The system fields that the server set, without other fields or changes.
    var systemFields: RecordState {
        var system = ancestor
        system.fields = RecordFields()
        system.fetchedFields = RecordFields()
        system.assets = [:]
        // The next save builds on the manifest, which has hashes and no values.
        (system.encrypted.values, system.encrypted.fetched) = (RecordFields(), RecordFields())
        return system
    }

    func encode(with coder: NSCoder) {
        let hasAssets = (fields.entries + fetchedFields.entries).contains { $0.value.assets != nil }
        let archived = ArchivedRecord(
            version: sharing != nil ? ArchivedRecord.currentVersion : hasAssets ? ArchivedRecord.versionWithAssets : 1, recordType: recordType,
            recordName: recordID.recordName, zoneName: recordID.zoneID.zoneName, zoneOwner: recordID.zoneID.ownerName,
            recordChangeTag: recordChangeTag, created: created.map(ArchivedRecord.Stamp.init), modified: modified.map(ArchivedRecord.Stamp.init),
            parent: parent.map(ArchivedRecord.Link.init), fetchedParent: fetchedParent.map(ArchivedRecord.Link.init),
            share: share.map(ArchivedRecord.Link.init), fields: fields.archived(assets), fetchedFields: fetchedFields.archived([:]),
            changed: changed.sorted(), faults: faults, encrypted: encrypted.changed.sorted(), secrets: ArchivedSecrets(encrypted, of: self),
            held: held.isEmpty ? nil : held.compactMapValues { ArchivedValue(held: $0.object, in: recordID.zoneID) },
            heldParent: heldParent.map(ArchivedRecord.Link.init(held:)), sharing: sharing.map(ArchivedShare.init))
        coder.encode(asPropertyList: archived, forKey: ArchivedRecord.key)
    }

    /// - Parameter coder: an archive of this framework or of Apple's systems.
    init?(coder: NSCoder) {
        let key = ArchivedRecord.key
        guard coder.containsValue(forKey: key) else {
            self.init(appleCoder: coder)
            return
        }
        guard let archived = coder.decode(ArchivedRecord.self, fromPropertyListForKey: key), archived.version <= ArchivedRecord.currentVersion else {
            return nil
        }
        let zoneID = CKRecordZone.ID(zoneName: archived.zoneName, ownerName: archived.zoneOwner)
        self.init(recordType: archived.recordType, recordID: CKRecord.ID(recordName: archived.recordName, zoneID: zoneID))
        recordChangeTag = archived.recordChangeTag
        created = archived.created?.wire
        modified = archived.modified?.wire
        parent = archived.parent?.wire
        fetchedParent = archived.fetchedParent?.wire
        share = archived.share?.wire
        fields = RecordFields(archived: archived.fields)
        assets = archived.fields.compactMapValues { value in value.assets?.map(\.object) }
        fetchedFields = RecordFields(archived: archived.fetchedFields)
        changed = Set(archived.changed)
        faults = archived.faults
        held = (archived.held ?? [:]).mapValues { HeldValue($0.object(in: zoneID)) }
        heldParent = archived.heldParent.map { $0.object(in: zoneID) }
        if let secrets = archived.secrets {
            encrypted = secrets.fields(of: self)
        } else {
            // Earlier versions had the names alone.
            encrypted.changed = Set(archived.encrypted)
            for key in archived.encrypted { encrypted.faults[key] = ValueFault(key: key, reason: .encryptedLost) }
        }
        sharing = archived.sharing.map(ShareSheet.init)
    }
}

extension NSCoder {
    /// Encodes a value as one property list, which can be decoded without class names.
    func encode(asPropertyList value: some Encodable, forKey key: String) {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        // Encoding does not fail: every part is a property list type. An archive without the key decodes as no value.
        guard let data = try? encoder.encode(value) else { return }
        encode(NSData(data: data), forKey: key)
    }

    /// Decodes a value that is encoded as a property list; nil if the archive holds nothing under the key, or something
    /// else.
    func decode<Value: Decodable>(_ type: Value.Type, fromPropertyListForKey key: String) -> Value? {
        object(of: NSData.self, forKey: key).flatMap { try? PropertyListDecoder().decode(type, from: Data(referencing: $0)) }
    }
}

extension ArchivedRecord.Stamp {
    init(_ stamp: Record.Stamp) {
        self.init(time: stamp.timestamp.secondsSince2001, user: stamp.userRecordName, device: stamp.deviceID)
    }

    var wire: Record.Stamp {
        Record.Stamp(timestamp: Timestamp(secondsSince2001: time), userRecordName: user, deviceID: device)
    }
}

extension ArchivedRecord.Link {
    init(_ reference: Reference) {
        self.init(
            recordName: reference.recordName, action: reference.action.rawValue, zoneName: reference.zoneID?.zoneName,
            zoneOwner: reference.zoneID?.ownerRecordName)
    }

    /// The link of a reference with its whole zone, whose owner may be another than the record's.
    init(held reference: CKRecord.Reference) {
        let target = reference.recordID
        self.init(
            recordName: target.recordName, action: reference.wire(from: target.zoneID).action.rawValue, zoneName: target.zoneID.zoneName,
            zoneOwner: target.zoneID.ownerName)
    }

    /// The reference of a link with its whole zone.
    func object(in zone: CKRecordZone.ID) -> CKRecord.Reference {
        let target = zoneName.map { CKRecordZone.ID(zoneName: $0, ownerName: zoneOwner ?? CKCurrentUserDefaultName) } ?? zone
        return CKRecord.Reference(
            recordID: CKRecord.ID(recordName: recordName, zoneID: target), action: wire.action == .deleteSelf ? .deleteSelf : .none)
    }

    var wire: Reference {
        Reference(
            recordName: recordName, action: Reference.Action(rawValue: action) ?? .none,
            zoneID: zoneName.map { ZoneID(zoneName: $0, ownerRecordName: zoneOwner) })
    }
}

extension RecordFields {
    /// The encoded fields, without values that this version cannot show.
    fileprivate func archived(_ assets: [String: [CKAsset]]) -> [String: ArchivedValue] {
        var values: [String: ArchivedValue] = [:]
        for field in entries { values[field.name] = ArchivedValue(field.value, assets[field.name]) }
        return values
    }

    fileprivate init(archived values: [String: ArchivedValue]) {
        self.init(values.lazy.map { Field($0.key, $0.value.wire) })
    }
}

/// The encoded form of a `FieldValue`: exactly one of the lists is set, or none for an empty list.
struct ArchivedValue: Codable {
    struct Place: Codable {
        var latitude: Double
        var longitude: Double
        var horizontalAccuracy: Double?
        var verticalAccuracy: Double?
        var altitude: Double?
        var speed: Double?
        var course: Double?
        var time: Double?
    }

    /// The identity of an asset's bytes, and the URL of the app's file.
    struct File: Codable {
        var fileChecksum: String
        var size: Int64
        var referenceChecksum: String?
        var wrappingKey: String?
        /// The URL of the app's file.
        var url: String?
        /// Whether the bytes were to come from a photo library; nil if not.
        var isImport: Bool?
    }

    var isList = false
    var strings: [String]?
    var integers: [Int64]?
    var doubles: [Double]?
    var times: [Double]?
    var bytes: [Data]?
    var places: [Place]?
    var links: [ArchivedRecord.Link]?
    var assets: [File]?
    /// The elements of a list that no field can hold.
    var elements: [ArchivedValue]?
    /// The bits of an integer beyond those of `integers`.
    var unsigned: Int64?

    /// - Parameter objects: the app's objects of the assets in it; nil if their files are not known.
    init?(_ value: FieldValue, _ objects: [CKAsset]? = nil) {
        switch value {
        case .string(let value): strings = [value]
        case .int64(let value): integers = [value]
        case .double(let value): doubles = [value]
        case .timestamp(let value): times = [value.secondsSince2001]
        case .bytes(let value): bytes = [Data(value)]
        case .location(let value): places = [Place(value)]
        case .reference(let value): links = [ArchivedRecord.Link(value)]
        case .stringList(let list): (isList, strings) = (true, list)
        case .int64List(let list): (isList, integers) = (true, list)
        case .doubleList(let list): (isList, doubles) = (true, list)
        case .timestampList(let list): (isList, times) = (true, list.map(\.secondsSince2001))
        case .bytesList(let list): (isList, bytes) = (true, list.map { Data($0) })
        case .locationList(let list): (isList, places) = (true, list.map(Place.init))
        case .referenceList(let list): (isList, links) = (true, list.map(ArchivedRecord.Link.init))
        case .emptyList: isList = true
        case .asset, .assetList:
            if case .assetList = value { isList = true }
            let values = value.assets ?? []
            let files = objects?.count == values.count ? objects : nil
            assets = values.indices.map { File(values[$0], files?[$0]) }
        case .sealed: return nil
        }
    }

    var wire: FieldValue {
        if let strings { return isList ? .stringList(strings) : .string(strings.first ?? "") }
        if let integers { return isList ? .int64List(integers) : .int64(integers.first ?? 0) }
        if let doubles { return isList ? .doubleList(doubles) : .double(doubles.first ?? 0) }
        if let times {
            let stamps = times.map(Timestamp.init(secondsSince2001:))
            return isList || stamps.isEmpty ? .timestampList(stamps) : .timestamp(stamps[0])
        }
        if let bytes { return isList ? .bytesList(bytes.map { [UInt8]($0) }) : .bytes([UInt8](bytes.first ?? Data())) }
        if let places { return isList || places.isEmpty ? .locationList(places.map(\.wire)) : .location(places[0].wire) }
        if let links { return isList || links.isEmpty ? .referenceList(links.map(\.wire)) : .reference(links[0].wire) }
        if let assets { return isList || assets.isEmpty ? .assetList(assets.map(\.wire)) : .asset(assets[0].wire) }
        return .emptyList
    }
}

extension ArchivedValue {
    /// The encoded form of a value that no field can hold; nil where an object is of a class without one.
    init?(held object: Any, in zone: CKRecordZone.ID) {
        if let value = object as? any __CKRecordObjCValue, let wire = try? FieldValue(setting: value, in: zone) {
            self.init(wire, RecordState.assets(in: value))
        } else if let list = object as? [Any] {
            let archived = list.compactMap { ArchivedValue(held: $0, in: zone) }
            guard archived.count == list.count else { return nil }
            self.init(.emptyList)
            elements = archived
        } else if let number = (object as? NSNumber)?.uint64Value ?? (object as? any UnsignedInteger).map({ UInt64(truncatingIfNeeded: $0) }) {
            self.init(.emptyList)
            unsigned = Int64(bitPattern: number)
        } else {
            return nil
        }
    }

    /// The value as a record returns it.
    func object(in zone: CKRecordZone.ID) -> any __CKRecordObjCValue {
        if let unsigned { return NSNumber(value: UInt64(bitPattern: unsigned)) }
        if let elements { return NSArray(array: elements.map { $0.object(in: zone) }) }
        if let assets { return isList ? NSArray(array: assets.map(\.object)) : assets.first?.object ?? NSArray() }
        return wire.object(in: zone) ?? NSArray()
    }
}

extension ArchivedValue.File {
    /// The key of an asset that is archived by itself.
    static let key = "nacre.asset"

    /// - Parameter object: the app's object; nil if it is not known.
    init(_ asset: Asset, _ object: CKAsset?) {
        self.init(
            fileChecksum: asset.fileChecksum, size: asset.size, referenceChecksum: asset.referenceChecksum, wrappingKey: asset.wrappingKey,
            url: object?.fileURL?.absoluteString, isImport: object?.isImport == true ? true : nil)
    }

    var location: URL? { url.flatMap { URL(string: $0) } }

    /// The server's asset; nil for a file that is still to be sent.
    var known: Asset? { wire.isUnsent ? nil : wire }

    var wire: Asset {
        Asset(fileChecksum: fileChecksum, size: max(size, 0), referenceChecksum: referenceChecksum, wrappingKey: wrappingKey)
    }

    var object: CKAsset { CKAsset(file: location, known: known, isImport: isImport ?? false) }
}

extension ArchivedValue.Place {
    init(_ location: Location) {
        self.init(
            latitude: location.latitude, longitude: location.longitude, horizontalAccuracy: location.horizontalAccuracy,
            verticalAccuracy: location.verticalAccuracy, altitude: location.altitude, speed: location.speed, course: location.course,
            time: location.timestamp?.secondsSince2001)
    }

    var wire: Location {
        Location(
            latitude: latitude, longitude: longitude, horizontalAccuracy: horizontalAccuracy, verticalAccuracy: verticalAccuracy,
            altitude: altitude, speed: speed, course: course, timestamp: time.map(Timestamp.init(secondsSince2001:)))
    }
}
