import Foundation
import NacreCloudWire

// A field's value says which bytes it is; beside the values of asset fields stand the objects of the app, which say where their files are.

extension RecordState {
    /// The objects for the assets of these fields, in their order.
    ///
    /// - Parameter old: where files are known that have the same bytes.
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

    /// A value as it stands in this record after it was set: an asset that this very field has had is known to the server there, and any other is a file that
    /// is still to be sent.
    func placed(_ value: FieldValue, forKey key: String) -> FieldValue {
        guard let assets = value.assets else { return value }
        let had = fetchedFields[key]?.assets ?? []
        return value.with(assets: assets.map { asset in had.first { $0.isSameFile(as: asset) } ?? .unsent })
    }

    /// The objects in a value that an app sets.
    static func assets(in object: (any __CKRecordObjCValue)?) -> [CKAsset] {
        if let asset = object as? CKAsset { return [asset] }
        guard let list = object as? any Sequence else { return [] }
        return elements(list)
    }

    private static func elements(_ list: some Sequence) -> [CKAsset] {
        list.compactMap { $0 as? CKAsset }
    }

    /// What a record hands out for an asset field; nil for any other.
    func assetObject(forKey key: String) -> (any __CKRecordObjCValue)? {
        guard let assets = assets[key] else { return nil }
        if case .assetList = fields[key] { return NSArray(array: assets) }
        return assets.first
    }

    /// The objects after a save: those that were sent have become the server's, and keep their files.
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
