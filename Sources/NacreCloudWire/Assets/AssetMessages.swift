/// `POST assets/upload`: where the bytes of assets may go, before the records that will carry them are saved.
package struct AssetsUploadRequest: Equatable, Sendable {
    /// The field that an asset is for. A list of assets asks once for each of its elements.
    package struct Token: Equatable, Sendable {
        /// nil: the server makes a name, and answers it.
        package var recordName: String?
        package var recordType: String
        package var fieldName: String

        package init(recordName: String? = nil, recordType: String, fieldName: String) {
            self.recordName = recordName
            self.recordType = recordType
            self.fieldName = fieldName
        }
    }

    package var zoneID: ZoneID
    package var tokens: [Token]
    package var `extension`: RequestExtension

    package init(tokens: [Token], zoneID: ZoneID = .defaultZone, extension: RequestExtension = RequestExtension()) {
        self.tokens = tokens
        self.zoneID = zoneID
        self.extension = `extension`
    }
}

/// The answer to `assets/upload`: a place for the bytes of each token, in the order of the request.
package struct AssetsUploadResponse: Equatable, Sendable {
    package struct Token: Equatable, Sendable {
        package var recordName: String
        package var fieldName: String
        /// Takes the bytes by `POST`, for as long as the server says, and needs no credentials.
        package var url: String

        package init(recordName: String, fieldName: String, url: String) {
            self.recordName = recordName
            self.fieldName = fieldName
            self.url = url
        }
    }

    package var tokens: [Token]

    package init(tokens: [Token]) {
        self.tokens = tokens
    }
}

/// The answer to the `POST` of an asset's bytes: what a record then carries, with its receipt.
package struct SingleFileResponse: Equatable, Sendable {
    package var singleFile: Asset

    package init(singleFile: Asset) {
        self.singleFile = singleFile
    }
}
