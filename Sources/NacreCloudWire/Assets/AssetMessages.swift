/// `POST assets/upload`: asks for URLs to upload files to.
package struct AssetsUploadRequest: Equatable, Sendable {
    /// A file that will be the value of a field, or an element of it.
    package struct Item: Equatable, Sendable {
        /// nil: the server makes a name for a new record.
        package var recordName: String?
        package var recordType: String
        package var fieldName: String
        /// The file's chunks, where the client can send it in parts.
        package var file: AnnouncedFile?

        package init(recordName: String? = nil, recordType: String, fieldName: String, file: AnnouncedFile? = nil) {
            self.recordName = recordName
            self.recordType = recordType
            self.fieldName = fieldName
            self.file = file
        }
    }

    package var tokens: [Item]
    package var zoneID: ZoneID
    package var `extension`: RequestExtension

    package init(tokens: [Item], zoneID: ZoneID = .defaultZone, extension: RequestExtension = RequestExtension()) {
        self.tokens = tokens
        self.zoneID = zoneID
        self.extension = `extension`
    }
}

/// The answer to `assets/upload`, in the order of the request.
package struct AssetsUploadResponse: Equatable, Sendable {
    package struct Token: Equatable, Sendable {
        package var recordName: String
        package var fieldName: String
        /// The URL for the bytes, sent with POST; valid for one file.
        package var url: String
        /// The chunks of an announced file to send, with PATCH. nil: all of it, with POST.
        package var awaited: AwaitedFile?

        package init(recordName: String, fieldName: String, url: String, awaited: AwaitedFile? = nil) {
            self.recordName = recordName
            self.fieldName = fieldName
            self.url = url
            self.awaited = awaited
        }
    }

    package var tokens: [Token]

    package init(tokens: [Token]) {
        self.tokens = tokens
    }
}

/// The answer of an upload URL: the dictionary that a save then carries.
package struct AssetUploadResponse: Equatable, Sendable {
    package var singleFile: Asset

    package init(singleFile: Asset) {
        self.singleFile = singleFile
    }
}

/// `POST assets/rereference`: asks for a record's assets in a form that can be saved into other fields and records of
/// the same zone.
package struct AssetsRereferenceRequest: Equatable, Sendable {
    package struct Item: Hashable, Sendable {
        package var recordName: String
        package var fieldName: String

        package init(recordName: String, fieldName: String) {
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    package var assets: [Item]
    package var zoneID: ZoneID
    package var `extension`: RequestExtension

    package init(assets: [Item], zoneID: ZoneID = .defaultZone, extension: RequestExtension = RequestExtension()) {
        self.assets = assets
        self.zoneID = zoneID
        self.extension = `extension`
    }
}

/// The answer to `assets/rereference`: the asset of each item; for a field with a list, each element in its place.
package struct AssetsRereferenceResponse: Equatable, Sendable {
    package var assets: [Asset]

    package init(assets: [Asset]) {
        self.assets = assets
    }
}
