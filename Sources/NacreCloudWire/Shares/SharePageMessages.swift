/// `POST records/share-page`, an endpoint of ours: asks for the URL of a page on which the user manages a share.
package struct SharePageRequest: Equatable, Sendable {
    package var zoneID: ZoneID
    /// The record that is shared or is to be, or the share's own record; nil: the whole zone.
    package var recordName: String?
    /// The title and type that the page gives a share which it makes.
    package var title: String?
    package var type: String?
    /// The kinds of access that the page offers; nil: all.
    package var access: [String]?
    /// The permissions that the page offers; nil: all.
    package var permissions: [String]?
    package var `extension`: RequestExtension

    package init(
        zoneID: ZoneID, recordName: String? = nil, title: String? = nil, type: String? = nil, access: [String]? = nil,
        permissions: [String]? = nil, extension: RequestExtension = RequestExtension()
    ) {
        (self.zoneID, self.recordName, self.title, self.type) = (zoneID, recordName, title, type)
        (self.access, self.permissions, self.extension) = (access, permissions, `extension`)
    }
}

extension SharePageRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "recordName", recordName)
        writer.write(ifPresent: "shareTitle", title)
        writer.write(ifPresent: "shareType", type)
        writer.write(ifPresent: "supportedAccess", access)
        writer.write(ifPresent: "supportedPermissions", permissions)
        writer.endObject()
    }
}

/// The answer to `records/share-page`.
package struct SharePageResponse: Equatable, Sendable {
    /// The URL of the page. It opens the page once, within `Limits.shareGrantSeconds`.
    package var url: String

    package init(url: String) {
        self.url = url
    }
}

extension SharePageResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        var url: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "url": url = try reader.optionalString()
            default: try reader.skip()
            }
        }
        self.init(url: try reader.require(url, "url", at: start))
    }
}
