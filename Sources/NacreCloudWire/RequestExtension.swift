/// Our additions to a request, under the key `nacre`; see `docs/wire.md`. A client that does not send the object gets
/// answers without our additions.
package struct RequestExtension: Equatable, Sendable {
    /// Whether the answer has our additions: native codes, server records, exact times. On the wire `details`.
    package var wantsDetails: Bool
    /// The ID of this request over its retries: its changes are made once. On the wire `operationID`.
    package var operationID: String?
    /// Seconds that `changes/database` may wait for a change before it answers that there is none. On the wire
    /// `waitSeconds`.
    package var waitSeconds: Double?
    /// Whether `changes/zone` answers pages without records. On the wire `tokenOnly`.
    package var wantsTokenOnly: Bool
    /// `CKModifyRecordsOperation.clientChangeTokenData`; base64 on the wire, `clientChangeToken`.
    package var clientChangeToken: [UInt8]?

    package init(
        wantsDetails: Bool = false, operationID: String? = nil, waitSeconds: Double? = nil, wantsTokenOnly: Bool = false,
        clientChangeToken: [UInt8]? = nil
    ) {
        self.wantsDetails = wantsDetails
        self.operationID = operationID
        self.waitSeconds = waitSeconds
        self.wantsTokenOnly = wantsTokenOnly
        self.clientChangeToken = clientChangeToken
    }
}
