extension AdminMessages {
    /// Faults of an emulator's requests. `networkUnavailable` of `CloudKitTesting` is not among them: a request that
    /// reaches a server was sent.
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
        /// A raw value of `FaultKind`.
        package var fault: String
        /// A raw value of `FaultableRequest`; nil: any.
        package var request: String?
        /// The number of requests that fail, repetitions included; nil: one.
        package var count: Int?
        /// The address of the user whose requests fail; nil: any user.
        package var user: String?
        /// The zone that a request has to name; nil: any.
        package var zone: String?
        /// The records that fail instead of the whole request.
        package var records: [String]?
        /// Seconds after which the app may ask again; nil: one.
        package var retryAfter: Int?
        /// Seconds of a latency.
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

    /// Pending faults in words, the oldest first.
    package struct Faults: Codable, Hashable, Sendable {
        package var faults: [String]
    }
}
