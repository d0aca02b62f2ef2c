import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST assets/upload`
    var assetsUpload: Endpoint<AssetsUploadRequest, AssetsUploadResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.tokens.count) },
            ask: { request, call in try await cloud.requestUploads(request, in: call.target, by: call.caller) })
    }

    /// `POST assets/rereference`
    var assetsRereference: Endpoint<AssetsRereferenceRequest, AssetsRereferenceResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.assets.count) },
            ask: { request, call in try await cloud.rereferenceAssets(request, in: call.target, by: call.caller) })
    }

    /// Adds the routes that URLs in answers lead to. They take no credential: the URL itself says whose it is.
    func addAssetRoutes(to router: inout Router) {
        router.post(AssetLinks.uploadPath + ":token", bodyBytesMax: cloud.bounds.assetSizes.largestBody + FileForm.envelopeBytesMax) {
            request, parameters in
            let permit = try cloud.uploadPermit(try parameters.require("token"))
            return try await answer(request, in: permit.target, by: permit.credential) { try await receive($0, permit) }
        }
        router.patch(AssetLinks.uploadPath + ":token", bodyBytesMax: cloud.bounds.assetSizes.largestBody) { request, parameters in
            let permit = try cloud.uploadPermit(try parameters.require("token"))
            return try await answer(request, in: permit.target, by: permit.credential) { try await receivePart($0, permit) }
        }
        router.head(AssetLinks.uploadPath + ":token") { request, parameters in
            let permit = try cloud.uploadPermit(try parameters.require("token"))
            return try await answer(request, in: permit.target, by: permit.credential) { call in
                let there = try await cloud.offset(of: permit, by: call.caller)
                return Self.part(HTTPStatus(rawValue: 204), offset: there.offset, isComplete: there.isComplete)
            }
        }
        router.get(AssetLinks.downloadPath + ":token/:name") { request, parameters in
            let permit = try cloud.downloadPermit(try parameters.require("token"))
            let target = try await cloud.target(of: permit)
            let name = try parameters.require("name")
            return try await answer(request, in: target, by: permit.credential) { call in
                try await response(of: try await cloud.content(of: permit, in: target, by: call.caller), named: name, to: call)
            }
        }
    }

    // MARK: Upload

    /// Takes a body's raw bytes, whatever its content type, or the file of a form.
    private func receive(_ call: Call, _ permit: UploadPermit) async throws -> HTTPResponse {
        do {
            var file = try UploadedFile(call.request)
            let uploaded = try await cloud.upload(permit, by: call.caller, length: file.length) {
                try await requireStill(call, permit)
            } next: {
                try await file.next()
            }
            return .json(uploaded.json(AnswerForm()))
        } catch let fault as FileFormFault {
            throw ServerError(
                .badRequest, fault.rawValue, field: "Content-Type",
                remedy: "Send the bytes of the file as the body, or as the only part of a multipart/form-data body: curl -F file=@FILE URL.")
        }
    }

    /// Authenticates again even if that was done just now: a credential that has ended meanwhile must not save a file.
    private func requireStill(_ call: Call, _ permit: UploadPermit) async throws {
        let now = try await authenticator.identify(
            call.request, by: permit.credential, container: call.target.container, environment: call.target.environment)
        guard now.caller == call.caller else { throw ServerError.authenticationFailed }
    }

    /// Takes one part of an announced file.
    private func receivePart(_ call: Call, _ permit: UploadPermit) async throws -> HTTPResponse {
        let request = call.request
        guard let offset = request.header(PartHeader.offset).flatMap({ Int64($0) }), offset >= 0 else {
            throw ServerError.missingHeader(PartHeader.offset)
        }
        let complete = request.header(PartHeader.complete)
        guard complete == PartHeader.text(true) || complete == PartHeader.text(false) else { throw ServerError.missingHeader(PartHeader.complete) }
        var pieces = request.body.makeAsyncIterator()
        do {
            let part = try await cloud.append(permit, by: call.caller, at: offset, isLast: complete == PartHeader.text(true)) {
                try await requireStill(call, permit)
            } next: {
                try await pieces.next()
            }
            switch part {
            case .more(let offset): return Self.part(HTTPStatus(rawValue: 204), offset: offset, isComplete: false)
            case .whole(let uploaded):
                var response = HTTPResponse.json(uploaded.json(AnswerForm()))
                response.headers[PartHeader.complete] = PartHeader.text(true)
                return response
            }
        } catch let mismatch as UploadOffsetMismatch {
            var response = errors.response(to: mismatch.error, request)
            response.headers[PartHeader.offset] = String(mismatch.offset)
            return response
        }
    }

    private static func part(_ status: HTTPStatus, offset: Int64, isComplete: Bool) -> HTTPResponse {
        var response = HTTPResponse(status)
        response.headers[PartHeader.offset] = String(offset)
        response.headers[PartHeader.complete] = PartHeader.text(isComplete)
        return response
    }

    // MARK: Download

    /// Sends the bytes as a file of an unknown kind, so that a browser saves it and never shows it. The rates are
    /// charged as the bytes go out.
    private func response(of content: AssetContent, named name: String, to call: Call) async throws -> HTTPResponse {
        try call.request.ledger.takeAnswer(content.answerBytes)
        var response = HTTPResponse()
        response.mayCompress = false
        response.headers["Content-Type"] = "application/octet-stream"
        response.headers["Content-Disposition"] = Self.disposition(name)
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        response.headers["ETag"] = "\"\(content.fileChecksum)\""
        let length = UInt64(clamping: content.size)
        let range: Range<UInt64>
        switch call.request.method == .get ? WantedPart(of: length, tag: response.headers["ETag"], for: call.request) : .unmodified {
        case .whole: range = 0..<length
        case .part(let part): range = part
        case .unmodified, .behindTheEnd: range = 0..<0
        }
        let reader = content.reader(of: Int64(clamping: range.lowerBound)..<Int64(clamping: range.upperBound), mayBeResident: true)
        // Damage found before the answer begins gets an error answer.
        try await reader.begin()
        response.body = .content(
            HTTPContent(length: length) { _, writer in
                var piece = try await reader.next()
                while let current = piece {
                    // The next chunk is read and verified against its name while this one goes out.
                    async let following = reader.next()
                    rates.take(current.count / 1000, from: call.payers)
                    try await send(current, of: content, to: writer)
                    piece = try await following
                }
            })
        return response
    }

    private func send(_ piece: AssetPiece, of content: AssetContent, to writer: HTTPStreamWriter) async throws {
        switch piece {
        case .bytes(let bytes): try await writer.write(bytes)
        case .resident(let chunks, let range):
            let parts = chunks.map { ResidentPart(descriptor: $0.chunk.descriptor, bytes: $0.bytes, isSound: $0.chunk.isSound) }
            let taken = Int64(try await writer.write(parts))
            // The rest has left the kernel's memory, or may not be sent on without being read.
            let rest = content.reader(of: range.lowerBound + taken..<range.upperBound)
            while case .bytes(let bytes)? = try await rest.next() { try await writer.write(bytes) }
        }
    }

    /// RFC 6266: the file name that the client put into the URL, if it put one there.
    private static func disposition(_ name: String) -> String {
        guard name != AssetLinks.fileName else { return "attachment" }
        let plain = name.utf8.map { byte in
            let isPlain = (0x20..<0x7f).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "/")
            return isPlain ? byte : UInt8(ascii: "_")
        }
        return "attachment; filename=\"\(String(decoding: plain.prefix(255), as: UTF8.self))\""
    }
}

extension AssetContent {
    /// Bytes of memory that an answer with the content takes at a time.
    var answerBytes: Int { Int(clamping: min(size, Int64(bytesInMemory + ServerLimits.bufferedBytesMax))) }
}

extension UploadPermit {
    fileprivate var target: DatabaseTarget {
        DatabaseTarget(container: place.database.container, environment: place.database.environment, scope: place.database.scope)
    }
}

extension ServerError {
    fileprivate static func missingHeader(_ name: String) -> ServerError {
        ServerError(
            .badRequest, "missing or malformed header", field: name,
            remedy: "Send Upload-Offset, a number, and Upload-Complete, ?1 with the last part and ?0 with others.")
    }
}
