package import NacreCloudWire

/// The errors that requests get when the store fails, and for values that no store can hold.
extension ServerError {
    package static let internalError = ServerError(
        .internalError, "Internal server error", remedy: "The server's log says more, under this request's UUID.")

    package static func badValue(_ field: String, _ reason: String, remedy: String) -> ServerError {
        ServerError(.badRequest, reason, field: field, remedy: remedy)
    }

    /// 503: the store ended a read that held writes up, however often it was started again.
    package static let outpaced = ServerError(
        .tryAgainLater, "The server's store is busy with writes", internalCode: 2022, remedy: "Ask for less at a time, or again.", retryAfter: 1)

    package init(_ error: StoreError) {
        switch error.code {
        case .full:
            self.init(
                .tryAgainLater, "The server has no room to write", internalCode: 2022, remedy: "Make room on the server's disk.", retryAfter: 30)
        case .readOnly:
            self.init(
                .tryAgainLater, "The server's data cannot be written now", internalCode: 2022,
                remedy: "See that the server may write its data folder, and that the disk is not mounted for reading only.", retryAfter: 30)
        case .unavailable:
            self.init(.tryAgainLater, "The server's store is not available", internalCode: 2022, retryAfter: 5)
        case .outpaced:
            self = .outpaced
        case .collision:
            self.init(.tryAgainLater, "Another request made the same at the same moment", internalCode: 2022, retryAfter: 1)
        case .closed:
            self.init(.tryAgainLater, "The server is shutting down", internalCode: 2022, retryAfter: 5)
        case .corrupt, .tooLarge, .inUse, .newerVersion, .foreignLog:
            self = .internalError
        }
    }
}
