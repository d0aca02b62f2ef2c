extension AdminMessages {
    /// What can go wrong with a request of an emulator. `networkUnavailable` of `CloudKitTesting` is not among them: what a server hears has been sent.
    package enum FaultKind: String, CaseIterable, Sendable {
        case requestRateLimited
        case serviceUnavailable
        case zoneBusy
        case quotaExceeded
        case permissionFailure
        case serverRejectedRequest
        case changeTokenExpired
        case connectionLostBeforeCommit
        case connectionLostAfterCommit
        case latency
    }

    package static let faultableRequests = FaultableRequest.allCases.map(\.rawValue)

    /// `POST /admin/1/faults`, on an emulator
    package struct NewFault: Codable, Hashable, Sendable {
        /// One of `FaultKind`.
        package var fault: String
        /// One of `FaultableRequest`; nil: any.
        package var request: String?
        /// How many requests it happens to; nil: one. Repetitions count.
        package var count: Int?
        /// The address of the user whose requests it is for; nil: everybody's.
        package var user: String?
        /// Only requests that name this zone.
        package var zone: String?
        /// The records that fail, and not the whole request.
        package var records: [String]?
        /// Seconds after which the app may ask again; nil: one.
        package var retryAfter: Int?
        /// Of a latency.
        package var seconds: Double?

        package init(
            fault: String, request: String?, count: Int?, user: String?, zone: String?, records: [String]?, retryAfter: Int?, seconds: Double?
        ) {
            (self.fault, self.request, self.count, self.user, self.zone) = (fault, request, count, user, zone)
            (self.records, self.retryAfter, self.seconds) = (records, retryAfter, seconds)
        }
    }

    /// `POST /admin/1/faults/clear`, on an emulator
    package struct NoFaults: Codable, Hashable, Sendable {
        package init() {}
    }

    /// What was ordered and has not happened, in words, oldest first.
    package struct Faults: Codable, Hashable, Sendable {
        package var faults: [String]
    }
}
