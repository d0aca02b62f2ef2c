import NacreCloudWire

extension Conversation {
    func resolve(_ request: SharesRequest) async throws(CKError) -> SharesResponse {
        try await shares("records/resolve", request)
    }

    /// Accepts shares. Accepting again changes nothing, so the request can be repeated when an answer is lost.
    func accept(_ request: SharesRequest) async throws(CKError) -> SharesResponse {
        try await shares("records/accept", request)
    }

    /// Asks for access to shares. Asking again changes nothing, so the request can be repeated when an answer is lost.
    func requestAccess(_ request: SharesRequest) async throws(CKError) -> AccessRequestsResponse {
        let response: AccessRequestsResponse = try await ask("records/request-access", request, .read, since: line.timekeeper.now())
        guard response.results.count == request.shortGUIDs.count else { throw .unexpectedAnswer }
        return response
    }

    private func shares(_ path: String, _ request: SharesRequest) async throws(CKError) -> SharesResponse {
        let start = line.timekeeper.now()
        let user = try await currentUser()
        var response: SharesResponse = try await ask(path, request, .read, since: start)
        guard response.results.count == request.shortGUIDs.count else { throw .unexpectedAnswer }
        response.results = response.results.map { result in
            guard case .share(var metadata) = result else { return result }
            metadata.share = user.showing(metadata.share)
            metadata.rootRecord = metadata.rootRecord.map(user.showing)
            return .share(metadata)
        }
        return response
    }

    /// Returns the metadata of one result, or throws its error.
    /// - Parameter link: the secret of the link in the share's URL.
    func metadata(_ result: SharesResponse.Result, link: String?) throws(CKError) -> CKShare.Metadata {
        switch result {
        case .failure(_, let error): throw CKError(error)
        case .share(let metadata):
            return try CKShareMetadata(wire: metadata, isOwner: metadata.participantType == .owner, server: serverURL, link: link)
        }
    }
}
