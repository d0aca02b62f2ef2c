import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Files of records, and the check of all of them.
extension AdminAPI {
    func addAssetRoutes(to router: inout Router) {
        router.post("/admin/1/assets/content", bodyBytesMax: Limits.accountBodyBytes, showFile)
        router.post("/admin/1/assets/upload", bodyBytesMax: cloud.bounds.assetSizes.largestBody, receiveFile)
        let reviewing = AssetReviewing(cloud: cloud)
        router.post("/admin/1/assets/verify", bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try answer(try await reviewing.verify(try await body(AdminMessages.NewAssetVerification.self, of: request)))
        }
        router.post("/admin/1/assets/collect", bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try answer(try await reviewing.collect(try await body(AdminMessages.NewAssetCollection.self, of: request)))
        }
    }

    /// `POST /admin/1/assets/content`: the bytes of a file, which go out as they are read. A `POST`, because requests
    /// that read a database are logged.
    @Sendable private func showFile(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewAssetContent.self, of: request)
        let (target, caller) = try await reader(asked.container, environment: asked.environment, database: asked.database, user: asked.user)
        let zoneID = ZoneID(zoneName: asked.zone ?? ZoneID.defaultZoneName, ownerRecordName: asked.owner)
        let place = AssetPlace(zoneID: zoneID, recordName: asked.record, fieldName: asked.field, index: asked.index ?? 0)
        let content = try await cloud.content(at: place, in: target, by: caller)
        try request.ledger.takeAnswer(content.answerBytes)
        let reader = content.reader(of: 0..<content.size)
        // Damage found before the answer begins gets an error answer.
        let first = try await reader.next()
        var response = HTTPResponse()
        if case .bytes(let bytes)? = first, let image = ImageType(bytes) {
            response.headers["Content-Type"] = image.rawValue
        } else {
            response.headers["Content-Type"] = "application/octet-stream"
            response.headers["Content-Disposition"] = "attachment"
        }
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.body = .content(
            HTTPContent(length: UInt64(clamping: content.size)) { _, writer in
                var piece = first
                while case .bytes(let bytes)? = piece {
                    try await writer.write(bytes)
                    piece = try await reader.next()
                }
            })
        return response
    }
}

extension AdminAPI {
    /// Values of an upload's query: the body is the file.
    static let uploadQuery: [EndpointDescription.QueryValue] = [
        .required("container"), .required("environment", EndpointDescription.environment),
        .required("database", .word(["public", "private", "shared"])), .required("user"), .optional("zone"), .optional("owner"),
        .optional("record"), .required("recordType"), .required("field"),
    ]

    /// `POST /admin/1/assets/upload?container=…&environment=…&database=…&user=…&recordType=…&field=…`: takes a file
    /// that a `records/modify` in the name of the same user may save into the field.
    @Sendable private func receiveFile(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        var asked: [String: String] = [:]
        for value in Self.uploadQuery {
            asked[value.name] = request.query(value.name)
            if value.isRequired, asked[value.name] == nil { throw ServerError.missingQuery(value.name) }
        }
        try await AuditedRequest.current?.begin(about: asked)
        let (target, caller) = try await reader(
            asked["container"] ?? "", environment: asked["environment"] ?? "", database: asked["database"] ?? "", user: asked["user"],
            admitting: true)
        try await requireAuthor(caller, of: target)
        let zoneID = ZoneID(zoneName: asked["zone"] ?? ZoneID.defaultZoneName, ownerRecordName: asked["owner"])
        let item = AssetsUploadRequest.Item(
            recordName: asked["record"], recordType: asked["recordType"] ?? "", fieldName: asked["field"] ?? "")
        var pieces = request.body.makeAsyncIterator()
        let uploaded = try await cloud.upload(for: item, in: zoneID, of: target, by: caller, length: request.body.length) { try await pieces.next() }
        return try answer(AdminMessages.DatabaseAnswer(answer: String(decoding: uploaded.json(AnswerForm()), as: UTF8.self)))
    }
}

/// Images that every browser shows and that run no script, unlike SVG.
enum ImageType: String {
    case png = "image/png"
    case jpeg = "image/jpeg"
    case webp = "image/webp"
    case gif = "image/gif"

    /// Tells an image by the first bytes of its file; nil: the file is another one.
    init?(_ bytes: [UInt8]) {
        if bytes.starts(with: [0x89] + Array("PNG\r\n".utf8) + [0x1a, 0x0a]) {
            self = .png
        } else if bytes.starts(with: [0xff, 0xd8, 0xff]) {
            self = .jpeg
        } else if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
            self = .webp
        } else if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) {
            self = .gif
        } else {
            return nil
        }
    }
}
