public import Foundation
import NacreCloudWire
import NacreLocks

/// A file in a field of a record: a picture, a sound, a document. Its bytes are transferred beside the record, and do
/// not count as the record's size.
///
/// To save a file, make an asset from its URL and set it in a record. The file is read when the record is saved and
/// must not change until then; it is neither moved nor deleted. Only its bytes are sent, without name and attributes.
///
/// A fetched asset's file is in a cache folder that is swept at times. Move or copy the file before the app continues.
/// An instance belongs to one field of one record. Compares by identity. An archive has the URL of the file, not its
/// bytes: if the file is gone by then, saving the asset fails with `assetFileNotFound`. Apple: iOS 8.
open class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Sendable: all properties are constants of value types, except `sent`, which is `Locked`.

    /// The name of a file in a photo library, for `CKAsset(importing:)`. The library makes it; it is bound to its
    /// device, and expires. Apple: iOS 27.
    ///
    /// On this server: Linux has no photo library. An ID can only be decoded from an archive, and cannot be imported.
    public struct ExportedAssetID: Codable, Sendable {
        private let name: String

        public init(from decoder: any Decoder) throws {
            name = try decoder.singleValueContainer().decode(String.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(name)
        }
    }

    private let file: URL?
    /// Whether the bytes were to come from a photo library.
    let isImport: Bool
    /// The server's asset when it was last fetched or saved; nil for a file that is still to be sent.
    let known: Asset?
    /// The file that was sent for a save that failed.
    let sent = Locked<SentFile?>(nil)

    /// Makes an asset of a file.
    ///
    /// - Parameter fileURL: the URL of a file that can be read when the record is saved. Any other URL makes the save
    ///   fail.
    public convenience init(fileURL: URL) {
        self.init(file: fileURL, known: nil)
    }

    /// Makes an asset whose bytes the server copies from a photo library when its record is saved. It has no `fileURL`.
    /// Apple: iOS 27.
    ///
    /// On this server: the save fails with `assetNotAvailable`, as it does for an ID that has expired.
    public convenience init(importing exportedAssetID: CKAsset.ExportedAssetID) {
        self.init(file: nil, known: nil, isImport: true)
    }

    init(file: URL?, known: Asset?, isImport: Bool = false) {
        self.file = file
        self.known = known
        self.isImport = isImport
        super.init()
    }

    /// The URL of the file; nil if it was not fetched, as in the server's record of a conflict.
    open var fileURL: URL? { file }

    open override var description: String {
        "<CKAsset: fileURL=\(file.map(\.path) ?? "nil"), size=\(known.map { "\($0.size)" } ?? "unknown")>"
    }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an asset. An archive of Apple's systems gives one without a file, which is on another machine.
    public required init?(coder: NSCoder) {
        let archived = coder.decode(ArchivedValue.File.self, fromPropertyListForKey: ArchivedValue.File.key)
        guard archived != nil || !coder.containsValue(forKey: ArchivedValue.File.key) else { return nil }
        file = archived?.location
        known = archived?.known
        isImport = archived?.isImport ?? false
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(asPropertyList: ArchivedValue.File(known ?? .unsent, self), forKey: ArchivedValue.File.key)
    }
}

extension CKAsset: __CKRecordObjCValue, CKRecordValueProtocol {}

extension Asset {
    /// The placeholder for a file that is still to be sent.
    static let unsent = Asset(fileChecksum: "", size: 0)

    var isUnsent: Bool { fileChecksum.isEmpty }

    /// Returns whether both have the same bytes; their transfer does not count.
    func isSameFile(as other: Asset) -> Bool {
        fileChecksum == other.fileChecksum && size == other.size
    }
}

extension FieldValue {
    /// The assets in the value, in their order; nil if it holds no assets.
    var assets: [Asset]? {
        switch self {
        case .asset(let asset): [asset]
        case .assetList(let list): list
        default: nil
        }
    }

    /// Returns the value with other assets, one for each.
    func with(assets: [Asset]) -> FieldValue {
        switch self {
        case .asset(let asset): .asset(assets.first ?? asset)
        case .assetList: .assetList(assets)
        default: self
        }
    }

    /// The value as it is sent: without download URLs, which are not for the server.
    var withoutURLs: FieldValue {
        guard var assets else { return self }
        for index in assets.indices { assets[index].downloadURL = nil }
        return with(assets: assets)
    }

    /// Returns whether two values are the same; the transfer of assets does not count.
    func isSame(as other: FieldValue?) -> Bool {
        guard let mine = assets, let theirs = other?.assets, other?.type == type else { return self == other }
        return mine.elementsEqual(theirs) { $0.isSameFile(as: $1) }
    }
}
