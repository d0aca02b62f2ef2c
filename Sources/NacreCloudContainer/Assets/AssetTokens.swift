package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreEncryptionForms

/// The purposes of the three texts about assets. A text of one kind does not open as another, nor as a token of another
/// endpoint.
package enum AssetTokenKind: Hashable, Sendable, CaseIterable {
    /// A text in the URL to which a client sends bytes.
    case upload
    /// A text in the URL from which a client gets bytes.
    case download
    /// A text in the dictionary that a save carries.
    case receipt
}

/// The field for which a user may send a file.
package struct UploadPlace: Hashable, Sendable {
    package var database: DatabaseKey
    package var zone: Int64
    package var destination: StoredAsset.Destination
    /// The most bytes that the file may have, before it is sealed.
    package var bytesMax: Int

    /// The most bytes that are taken for the place. Outside of public databases a file may be sealed, and the server
    /// cannot tell: the last bytes of a sealed one may be padding.
    var bytesTaken: Int { database.scope == .public ? bytesMax : FileChunks.sealedCount(ofFile: bytesMax) }
}

/// The content of an upload's URL: the sender, and the field that the file is for.
package struct UploadPermit: Hashable, Sendable {
    package var place: UploadPlace
    package var credential: Credential
    package var expires: Timestamp
    /// The announced file that the URL is for; nil: the file was not announced.
    package var announced: AnnouncedUploadID?
}

/// The content of a download's URL: the reader, and the asset.
package struct DownloadPermit: Hashable, Sendable {
    package var credential: Credential
    package var database: DatabaseID
    package var asset: AssetID
    package var expires: Timestamp
}

/// An asset that was uploaded into a database. The receipt does not say whether the asset still exists.
package struct AssetReceipt: Hashable, Sendable {
    package var database: DatabaseID
    package var asset: AssetID
}

/// Makes the texts about assets, and opens them. Thread-safe.
package struct AssetTokens: Sendable {
    let seals: any TokenSealing

    package func text(of permit: UploadPermit) throws -> String {
        let (database, destination) = (permit.place.database, permit.place.destination)
        var writer = ByteWriter()
        writer.write(permit.credential)
        for text in [database.container, database.environment.rawValue, database.scope.rawValue, database.owner] { writer.string(text) }
        writer.signed(permit.place.zone)
        for text in [destination.zoneName, destination.recordName, destination.recordType, destination.fieldName, destination.sender] {
            writer.string(text)
        }
        writer.number(UInt64(permit.place.bytesMax))
        writer.double(permit.expires.secondsSince2001)
        if let announced = permit.announced {
            writer.fixed(announced.high)
            writer.fixed(announced.low)
        }
        return try Base64URL.text(standard: seals.seal(writer.bytes, as: .upload))
    }

    package func text(of permit: DownloadPermit) throws -> String {
        var writer = ByteWriter()
        writer.write(permit.credential)
        writer.fixed(UInt64(bitPattern: permit.database.rawValue))
        writer.string(permit.asset.key)
        writer.double(permit.expires.secondsSince2001)
        return try Base64URL.text(standard: seals.seal(writer.bytes, as: .download))
    }

    package func text(of receipt: AssetReceipt) throws -> String {
        var writer = ByteWriter()
        writer.fixed(UInt64(bitPattern: receipt.database.rawValue))
        writer.string(receipt.asset.key)
        return try seals.seal(writer.bytes, as: .receipt)
    }

    /// Returns nil for text that is not of this kind, or was altered.
    package func uploadPermit(_ text: String) -> UploadPermit? {
        guard let bytes = seals.open(Base64URL.standard(text), as: .upload) else { return nil }
        var reader = ByteReader(bytes)
        guard let credential = try? reader.credential(), let container = try? reader.string(),
            let environment = (try? reader.string()).flatMap(DatabaseKey.Environment.init),
            let scope = (try? reader.string()).flatMap(DatabaseKey.Scope.init), let owner = try? reader.string(),
            let zone = try? reader.signed(), let zoneName = try? reader.string(), let recordName = try? reader.string(),
            let recordType = try? reader.string(), let fieldName = try? reader.string(), let sender = try? reader.string(),
            let bytesMax = try? reader.number(), let expires = try? reader.double()
        else { return nil }
        var announced: AnnouncedUploadID?
        if let high = try? reader.fixed(), let low = try? reader.fixed() { announced = AnnouncedUploadID(high: high, low: low) }
        let place = UploadPlace(
            database: DatabaseKey(container: container, environment: environment, scope: scope, owner: owner), zone: zone,
            destination: StoredAsset.Destination(
                zoneName: zoneName, recordName: recordName, recordType: recordType, fieldName: fieldName, sender: sender),
            bytesMax: Int(clamping: bytesMax))
        return UploadPermit(place: place, credential: credential, expires: Timestamp(secondsSince2001: expires), announced: announced)
    }

    /// Returns nil for text that is not of this kind, or was altered.
    package func downloadPermit(_ text: String) -> DownloadPermit? {
        guard let bytes = seals.open(Base64URL.standard(text), as: .download) else { return nil }
        var reader = ByteReader(bytes)
        guard let credential = try? reader.credential(), let database = try? reader.fixed(),
            let asset = (try? reader.string()).flatMap(AssetID.init), let expires = try? reader.double()
        else { return nil }
        return DownloadPermit(
            credential: credential, database: DatabaseID(rawValue: Int64(bitPattern: database)), asset: asset,
            expires: Timestamp(secondsSince2001: expires))
    }

    /// Returns nil for text that is not of this kind, or was altered.
    package func receipt(_ text: String) -> AssetReceipt? {
        guard let bytes = seals.open(text, as: .receipt) else { return nil }
        var reader = ByteReader(bytes)
        guard let database = try? reader.fixed(), let asset = (try? reader.string()).flatMap(AssetID.init) else { return nil }
        return AssetReceipt(database: DatabaseID(rawValue: Int64(bitPattern: database)), asset: asset)
    }
}

extension ByteWriter {
    package mutating func write(_ credential: Credential) {
        let (kind, texts): (UInt8, [String]) =
            switch credential {
            case .apiToken(let token): (1, [token])
            case .session(let id, let account, let apiToken): (2, [id, account, apiToken])
            case .device(let id, let account): (3, [id, account])
            case .serverKey(let id): (4, [id])
            }
        byte(kind)
        for text in texts { string(text) }
    }
}

extension ByteReader {
    package mutating func credential() throws(MalformedBytes) -> Credential {
        switch try byte() {
        case 1: .apiToken(try string())
        case 2: .session(id: try string(), account: try string(), apiToken: try string())
        case 3: .device(id: try string(), account: try string())
        case 4: .serverKey(try string())
        default: throw MalformedBytes()
        }
    }
}
