import Foundation
import NacreCloudWire

// The value of an asset field identifies its bytes. The app's objects, which know the paths of the files, are kept
// beside the values.

extension RecordState {
    /// Returns objects for the assets of these fields, in their order.
    ///
    /// - Parameter old: objects with known files, used for assets with the same bytes.
    static func assets(of fields: RecordFields, files old: [String: [CKAsset]] = [:]) -> [String: [CKAsset]] {
        var result: [String: [CKAsset]] = [:]
        for field in fields.entries {
            guard let values = field.value.assets else { continue }
            result[field.name] = values.map { value in
                old[field.name]?.first { $0.known?.isSameFile(as: value) == true } ?? CKAsset(file: nil, known: value)
            }
        }
        return result
    }

    /// Returns the value to store in this record. An asset that this field had on the server is known there; any other
    /// asset is a file that is still to be sent.
    func placed(_ value: FieldValue, forKey key: String) -> FieldValue {
        guard let assets = value.assets else { return value }
        let had = fetchedFields[key]?.assets ?? []
        return value.with(assets: assets.map { asset in had.first { $0.isSameFile(as: asset) } ?? .unsent })
    }

    /// Returns the roots of the files in the fields that a save sends, as far as they were sealed before.
    func fileRoots(policy: SavePolicy) -> [String: [[UInt8]?]] {
        let known = encrypted.fileRoots
        return assets.keys.filter { policy == .allKeys || changed.contains($0) }.reduce(into: [:]) { result, key in
            guard let sent = fields[key]?.assets else { return }
            let before = zip(fetchedFields[key]?.assets ?? [], known[key] ?? [])
            result[key] = sent.map { asset in before.first { $0.0.isSameFile(as: asset) }?.1 }
        }
    }

    /// Returns the asset objects in a value that an app sets.
    static func assets(in object: (any __CKRecordObjCValue)?) -> [CKAsset] {
        if let asset = object as? CKAsset { return [asset] }
        guard let list = object as? any Sequence else { return [] }
        return elements(list)
    }

    private static func elements(_ list: some Sequence) -> [CKAsset] {
        list.compactMap { $0 as? CKAsset }
    }

    /// Returns the object of an asset field; nil for any other field.
    func assetObject(forKey key: String) -> (any __CKRecordObjCValue)? {
        guard let assets = assets[key] else { return nil }
        if case .assetList = fields[key] { return NSArray(array: assets) }
        return assets.first
    }

    /// Returns the objects after a save: those that were sent get the server's identity and keep their files.
    ///
    /// - Parameter sent: the objects of the fields that were sent.
    static func assets(of saved: RecordFields, sent: [String: [CKAsset]], over old: [String: [CKAsset]]) -> [String: [CKAsset]] {
        var result = assets(of: saved, files: old)
        for (key, objects) in sent {
            guard let values = saved[key]?.assets, values.count == objects.count else { continue }
            result[key] = zip(objects, values).map { CKAsset(file: $0.fileURL, known: $1) }
        }
        return result
    }
}
