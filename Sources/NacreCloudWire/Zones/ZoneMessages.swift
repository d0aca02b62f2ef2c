/// `POST zones/lookup`.
package struct ZonesLookupRequest: Hashable, Sendable {
    package var zones: [ZoneID]
    package var `extension`: RequestExtension

    package init(zones: [ZoneID], extension: RequestExtension = RequestExtension()) {
        self.zones = zones
        self.extension = `extension`
    }
}

/// `POST zones/modify`.
package struct ZonesModifyRequest: Hashable, Sendable {
    package var operations: [ZoneOperation]
    package var `extension`: RequestExtension

    package init(operations: [ZoneOperation], extension: RequestExtension = RequestExtension()) {
        self.operations = operations
        self.extension = `extension`
    }
}

package enum ZoneResult: Hashable, Sendable {
    case zone(Zone)
    case deleted(ZoneID)
    case failure(ZoneID, ServerError)
}

/// The answer to `zones/list`, `zones/lookup` and `zones/modify`.
package struct ZonesResponse: Hashable, Sendable {
    package var zones: [ZoneResult]

    package init(zones: [ZoneResult]) {
        self.zones = zones
    }
}
