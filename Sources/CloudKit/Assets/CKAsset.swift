public import Foundation
import NacreCloudWire
import NacreLocks

/// A file in a field of a record: a picture, a sound, a document. Its bytes travel beside the record, and have no part in the record's size.
///
/// To save one, make it from a file's URL and set it in a record. The file is read when the record is saved, and must stay as it is until then; it is
/// neither moved nor deleted. Only its bytes travel: no name and no attributes. A fetched asset names a file in a folder of caches, which is this app's
/// until something sweeps it: move or copy the file before the app goes on. An instance belongs to one field of one record. Compares by identity. Apple: iOS 8.
open class CKAsset: NSObject, @unchecked Sendable {
    // Sendable: all properties but the last are constants, and values; that one is `Locked`.

    /// Names a file of a photo library, for `CKAsset(importing:)`. The library gives it out; it is bound to its device, and expires. Apple: iOS 27.
    ///
    /// On this server: Linux has no such library, so an ID comes from an archive alone, and nothing can be imported by it.
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
    /// What the server has, or had when this was fetched or saved; nil for a file that is still to be sent.
    let known: Asset?
    /// What was sent of this file for a save that did not come about.
    let sent = Locked<SentFile?>(nil)

    /// - Parameter fileURL: of a file that can be read when the record is saved. Any other URL is a fault, told when the record is saved.
    public convenience init(fileURL: URL) {
        self.init(file: fileURL, known: nil)
    }

    /// An asset whose bytes the server copies out of a photo library when its record is saved. It has no `fileURL`. Apple: iOS 27.
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

    /// Where the bytes are; nil where they were not fetched, as in the server's record of a conflict.
    open var fileURL: URL? { file }

    open override var description: String {
        "<CKAsset: fileURL=\(file.map(\.path) ?? "nil"), size=\(known.map { "\($0.size)" } ?? "unknown")>"
    }
}

extension CKAsset: __CKRecordObjCValue, CKRecordValueProtocol {}

extension Asset {
    /// Stands in a field for a file that is still to be sent.
    static let unsent = Asset(fileChecksum: "", size: 0)

    var isUnsent: Bool { fileChecksum.isEmpty }

    /// Whether both are the same bytes; how they travel does not count.
    func isSameFile(as other: Asset) -> Bool {
        fileChecksum == other.fileChecksum && size == other.size
    }
}

extension FieldValue {
    /// The assets in it, in their order; nil where it holds something else.
    var assets: [Asset]? {
        switch self {
        case .asset(let asset): [asset]
        case .assetList(let list): list
        default: nil
        }
    }

    /// The same with other assets, one for each.
    func with(assets: [Asset]) -> FieldValue {
        switch self {
        case .asset(let asset): .asset(assets.first ?? asset)
        case .assetList: .assetList(assets)
        default: self
        }
    }

    /// As it is sent: where assets can be had is not for the server.
    var withoutURLs: FieldValue {
        guard var assets else { return self }
        for index in assets.indices { assets[index].downloadURL = nil }
        return with(assets: assets)
    }

    /// Whether a field that has one is as one that has the other; how assets travel does not count.
    func isSame(as other: FieldValue?) -> Bool {
        guard let mine = assets, let theirs = other?.assets, other?.type == type else { return self == other }
        return mine.elementsEqual(theirs) { $0.isSameFile(as: $1) }
    }
}
