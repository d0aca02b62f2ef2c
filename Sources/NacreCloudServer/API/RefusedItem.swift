import NacreCloudWire

/// An item of a request that was refused although the answer has status 200.
struct RefusedItem: Sendable {
    /// The item's name, as the answer has it; of a share the short GUID alone, because logs hold headers.
    var name: String?
    var error: ServerError
}

extension RecordsResponse {
    var refused: [RefusedItem] {
        records.compactMap { if case .failure(let name, let error) = $0 { RefusedItem(name: name, error: error) } else { nil } }
    }
}

extension ZonesResponse {
    var refused: [RefusedItem] {
        zones.compactMap { if case .failure(let zone, let error) = $0 { RefusedItem(name: zone.zoneName, error: error) } else { nil } }
    }
}

extension SubscriptionsResponse {
    var refused: [RefusedItem] {
        subscriptions.compactMap { if case .failure(let id, let error) = $0 { RefusedItem(name: id, error: error) } else { nil } }
    }
}

extension SharesResponse {
    var refused: [RefusedItem] {
        results.compactMap { if case .failure(let guid, let error) = $0 { RefusedItem(name: ShareKey(guid).shortGUID, error: error) } else { nil } }
    }
}

extension AccessRequestsResponse {
    var refused: [RefusedItem] {
        results.compactMap { result in result.error.map { RefusedItem(name: ShareKey(result.shortGUID).shortGUID, error: $0) } }
    }
}
