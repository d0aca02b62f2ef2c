import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST assets/upload`
    func assetsUpload(_ call: Call) async throws -> HTTPResponse {
        let turn: (AssetsUploadRequest, inout Turn) -> Void = { $1.rows = $0.tokens.count }
        return try await answer(call, try await call.body(), as: AssetsUploadRequest.self, turn: turn) {
            try await cloud.requestUploads($0, in: call.target, by: call.caller)
        }
    }

    /// `POST assets/rereference`
    func assetsRereference(_ call: Call) async throws -> HTTPResponse {
        let turn: (AssetsRereferenceRequest, inout Turn) -> Void = { $1.rows = $0.assets.count }
        return try await answer(call, try await call.body(), as: AssetsRereferenceRequest.self, turn: turn) {
            try await cloud.rereferenceAssets($0, in: call.target, by: call.caller)
        }
    }

    /// The routes that URLs in answers lead to. They ask for no credential: the URL tells whose it is.
    func addAssetRoutes(to router: inout Router) {
        router.post(AssetLinks.uploadPath + ":token", bodyBytesMax: Limits.nativeAssetBytes) { request, parameters in
            let permit = try cloud.uploadPermit(try parameters.require("token"))
            let target = DatabaseTarget(
                container: permit.database.container, environment: permit.database.environment, scope: permit.database.scope)
            return try await asked(request, permit.credential, target) { caller, _ in try await receive(request, permit, by: caller) }
        }
        router.get(AssetLinks.downloadPath + ":token/:name") { request, parameters in
            let permit = try cloud.downloadPermit(try parameters.require("token"))
            let target = try await cloud.target(of: permit)
            let name = try parameters.require("name")
            return try await asked(request, permit.credential, target) { caller, payers in
                try await response(of: try await cloud.content(of: permit, in: target, by: caller), named: name, to: request) {
                    rates.take($0 / 1000, from: payers)
                }
            }
        }
    }

    /// Answers the request of who was given a URL, within the rates and the budgets of all that is theirs.
    private func asked(
        _ request: HTTPRequest, _ credential: Credential, _ target: DatabaseTarget,
        _ answer: (Caller, [RequestRates.Payer]) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let address = IPAddress.customer(request.clientAddress)
        let meter = WorkMeter(requestID: request.id)
        var payers = rates.payers(of: request, address: address)
        try rates.require(payers)
        defer { rates.take(meter.cost, from: payers) }
        let (caller, origin) = try await Turn.$current.withValue(Turn(asker: address)) {
            try await authenticator.identify(credential, of: request, container: target.container, environment: target.environment)
        }
        let more = rates.payers(of: caller, in: target, try await rates.entry(of: target.container, in: cloud.registry))
        try rates.require(more)
        payers += more
        let holder = Call.holder(of: caller, request)
        try request.account.belong(to: holder)
        var response = try await WorkMeter.$current.withValue(meter) {
            try await Turn.$current.withValue(Turn(asker: holder.name)) { [payers] in try await answer(caller, payers) }
        }
        if let origin {
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers.addItem("Vary", "Origin")
        }
        return response
    }

    // MARK: Upload

    /// Takes the raw bytes of a body, whatever it says they are.
    private func receive(_ request: HTTPRequest, _ permit: UploadPermit, by caller: Caller) async throws -> HTTPResponse {
        var pieces = request.body.makeAsyncIterator()
        let database = permit.database
        let uploaded = try await cloud.upload(permit, by: caller, length: request.body.length) {
            let now = try await authenticator.identify(
                permit.credential, of: request, container: database.container, environment: database.environment)
            guard now.caller == caller else { throw ServerError.authenticationFailed }
        } next: {
            try await pieces.next()
        }
        return .json(uploaded.json(AnswerForm()))
    }

    // MARK: Download

    /// What lies in memory of a download: a chunk, and what waits for the socket.
    private static let downloadBytes = Limits.assetChunkBytes + ServerLimits.bufferedBytesMax

    /// The bytes as a file of an unknown kind: a browser keeps it and does not show it, whatever is in it.
    /// - Parameter sent: gets how many bytes go out, as they do.
    private func response(
        of content: AssetContent, named name: String, to request: HTTPRequest, _ sent: @escaping @Sendable (Int) -> Void
    ) async throws -> HTTPResponse {
        try request.account.takeAnswer(Int(clamping: min(content.size, Int64(Self.downloadBytes))))
        var response = HTTPResponse()
        response.mayCompress = false
        response.headers["Content-Type"] = "application/octet-stream"
        response.headers["Content-Disposition"] = Self.disposition(name)
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        response.headers["ETag"] = "\"\(content.fileChecksum)\""
        // What is damaged at its beginning is told before the answer begins.
        if request.method == .get { try await content.read(0..<1) { _ in } }
        response.body = .content(
            HTTPContent(length: UInt64(clamping: content.size)) { range, writer in
                try await content.read(Int64(clamping: range.lowerBound)..<Int64(clamping: range.upperBound)) {
                    sent($0.count)
                    try await writer.write($0)
                }
            })
        return response
    }

    /// RFC 6266: the name that the client put into the URL, where it is one.
    private static func disposition(_ name: String) -> String {
        guard name != AssetLinks.fileName else { return "attachment" }
        let plain = name.utf8.map { byte in
            let isPlain = (0x20..<0x7f).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "/")
            return isPlain ? byte : UInt8(ascii: "_")
        }
        return "attachment; filename=\"\(String(decoding: plain.prefix(255), as: UTF8.self))\""
    }
}
