/// Our additions to a request, under the key `nacre`; see `docs/wire.md`. A client that does not send the object gets answers without ours.
package struct RequestExtension: Equatable, Sendable {
    /// The answer carries our additions: native codes, server records, exact times. On the wire `details`.
    package var wantsDetails: Bool
    /// Names this request over its retries: what it changed is changed once. On the wire `operationID`.
    package var operationID: String?
    /// How long `changes/database` may wait for a change before it answers that there is none. On the wire `waitSeconds`.
    package var waitSeconds: Double?
    /// `changes/zone` answers pages without records. On the wire `tokenOnly`.
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
