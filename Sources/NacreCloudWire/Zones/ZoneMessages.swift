/// `POST zones/list`.
package struct ZonesListRequest: Equatable, Sendable {
    package var `extension`: RequestExtension

    package init(extension: RequestExtension = RequestExtension()) {
        self.extension = `extension`
    }
}

/// `POST zones/lookup`.
package struct ZonesLookupRequest: Equatable, Sendable {
    package var zones: [ZoneID]
    package var `extension`: RequestExtension

    package init(zones: [ZoneID], extension: RequestExtension = RequestExtension()) {
        self.zones = zones
        self.extension = `extension`
    }
}

/// `POST zones/modify`.
package struct ZonesModifyRequest: Equatable, Sendable {
    package var operations: [ZoneOperation]
    package var `extension`: RequestExtension

    package init(operations: [ZoneOperation], extension: RequestExtension = RequestExtension()) {
        self.operations = operations
        self.extension = `extension`
    }
}

package enum ZoneResult: Equatable, Sendable {
    case zone(Zone)
    case deleted(ZoneID)
    case failure(ZoneID, ServerError)
}

/// The answer to `zones/list`, `zones/lookup` and `zones/modify`.
package struct ZonesResponse: Equatable, Sendable {
    package var zones: [ZoneResult]

    package init(zones: [ZoneResult]) {
        self.zones = zones
    }
}
