package import NacreCloudWire

// Upper bounds of an answer's length as JSON. A control character takes six bytes, a reference repeats its zone, and
// a number takes a digit for about three bits: a record's JSON can be many times its size in the store. The bounds
// are near the real size for text, and a few times that for numbers.

extension RecordFields {
    /// Bytes of the fields as JSON, at most. Costs a walk over all values, and over the bytes of texts.
    package var answerBytes: Int {
        entries.indices.reduce(0) { $0 + JSONSize.text(entries[$1].name) + JSONSize.field + entries[$1].value.answerBytes }
    }
}

extension Record {
    /// Bytes of the record as JSON, at most. Costs a walk over all values, and over the bytes of texts.
    package var answerBytes: Int {
        let links = [parent, share].reduce(0) { $0 + ($1.map { $0.answerBytes } ?? 0) }
        let stamps = [created, modified].reduce(0) { $0 + JSONSize.text($1.userRecordName) + ($1.deviceID.map(JSONSize.text) ?? 0) }
        let own = JSONSize.record + JSONSize.text(recordName) + JSONSize.text(recordType) + JSONSize.zone(zoneID)
        let added = (sharing?.value.answerBytes ?? 0) + JSONSize.base64(manifest?.count ?? 0)
        return own + stamps + links + added + fields.answerBytes
    }
}

extension ShareDetails {
    fileprivate var answerBytes: Int {
        let shown = (participants + [owner] + [currentUserParticipant].compactMap(\.self)).reduce(JSONSize.record) { $0 + $1.answerBytes }
        return (requesters + blockedIdentities).reduce(shown) { $0 + $1.answerBytes }
    }
}

extension ShareParticipant {
    fileprivate var answerBytes: Int { [participantID, oneTimeSecret].reduce(identity.answerBytes) { $0 + ($1.map(JSONSize.text) ?? 0) } }
}

extension ParticipantIdentity {
    fileprivate var answerBytes: Int {
        let info: String? =
            switch lookupInfo {
            case .emailAddress(let text), .phoneNumber(let text), .userRecordName(let text), .contactHash(let text): text
            case nil: nil
            }
        return [userRecordName, nameComponents?.givenName, nameComponents?.familyName, info].reduce(JSONSize.participant) {
            $0 + ($1.map(JSONSize.text) ?? 0)
        }
    }
}

extension RecordResult {
    /// Bytes of the result as JSON, at most.
    package var answerBytes: Int {
        switch self {
        case .record(let record): record.answerBytes
        case .deleted(let tombstone): JSONSize.record + JSONSize.text(tombstone.recordName) + JSONSize.text(tombstone.recordType ?? "")
        case .failure(let name, let error): JSONSize.text(name ?? "") + error.answerBytes
        }
    }
}

extension ServerError {
    fileprivate var answerBytes: Int {
        let texts = [reason, redirectURL, field, remedy].reduce(0) { $0 + ($1.map(JSONSize.text) ?? 0) }
        return JSONSize.record + texts + (serverRecord?.value.answerBytes ?? 0)
    }
}

/// An answer whose size depends mainly on its records.
package protocol RecordAnswerMessage: Sendable {
    func json(_ form: AnswerForm) -> [UInt8]
    /// Bytes of the answer as JSON, at most.
    var answerBytes: Int { get }
    /// Bytes of its values, apart from their JSON form. Costs a walk over the fields, and none over texts.
    var valueBytes: Int { get }
    /// Whether an item of the request was carried out, now or by an earlier sending. Such an answer is sent whatever
    /// room there is.
    var isDone: Bool { get }
    /// The number of records or other items, refused ones included.
    var itemCount: Int { get }
}

extension RecordAnswerMessage {
    package var isDone: Bool { false }
}

extension SubscriptionsResponse: RecordAnswerMessage {
    package var answerBytes: Int { subscriptions.reduce(JSONSize.record) { $0 + $1.answerBytes } }

    /// Assumes a long text for each: measuring costs more than encoding some beside the loop.
    package var valueBytes: Int { subscriptions.count * JSONSize.subscription }
    package var itemCount: Int { subscriptions.count }
}

extension SubscriptionResult {
    /// Bytes of the result as JSON, at most: an answer adds little to the saved subscription.
    fileprivate var answerBytes: Int {
        switch self {
        case .subscription(let subscription):
            var writer = JSONWriter()
            subscription.write(to: &writer, form: ValueForm(details: true, numbersAsStrings: true, isAnswer: true))
            return JSONSize.record + writer.finish().count
        case .deleted(let id): return JSONSize.record + JSONSize.text(id)
        case .failure(let id, let error): return JSONSize.text(id) + error.answerBytes
        }
    }
}

extension Sequence where Element == RecordResult {
    fileprivate var answerBytes: Int { reduce(JSONSize.record) { $0 + $1.answerBytes } }

    fileprivate var valueBytes: Int {
        reduce(0) { sum, result in
            switch result {
            case .record(let record): sum + record.byteCount
            case .deleted: sum
            case .failure(_, let error): sum + (error.serverRecord?.value.byteCount ?? 0)
            }
        }
    }
}

extension RecordsResponse: RecordAnswerMessage {
    package var answerBytes: Int { records.answerBytes }
    package var valueBytes: Int { records.valueBytes }
    package var itemCount: Int { records.count }

    package var isDone: Bool {
        records.contains { result in
            if case .failure = result { false } else { true }
        }
    }
}

extension RecordsChangesResponse: RecordAnswerMessage {
    package var answerBytes: Int { records.answerBytes }
    package var valueBytes: Int { records.valueBytes }
    package var itemCount: Int { records.count }
}

extension QueryAnswer {
    /// Bytes of the answer as JSON, at most. Costs the reading of all records not read yet: only for long answers.
    package var answerBytes: Int { whole.answerBytes }

    package var valueBytes: Int { page.valueBytes }
    package var itemCount: Int { page.count + response.failures.count }
}

extension LookupAnswer {
    package var answerBytes: Int { whole.answerBytes }

    package var valueBytes: Int { page.valueBytes }
    package var itemCount: Int { page.count }
}

extension RecordsQueryResponse {
    fileprivate var answerBytes: Int {
        let failed = failures.reduce(0) { $0 + JSONSize.text($1.recordName) + JSONSize.zone($1.zoneID) + $1.error.answerBytes }
        return records.reduce(JSONSize.record + failed) { $0 + $1.answerBytes }
    }
}

extension ChangesZoneResponse: RecordAnswerMessage {
    package var answerBytes: Int {
        zones.reduce(JSONSize.record) { sum, zone in
            switch zone {
            case .page(let page): sum + JSONSize.zone(page.zoneID) + JSONSize.base64(page.clientChangeToken?.count ?? 0) + page.records.answerBytes
            case .failure(let zoneID, let error): sum + JSONSize.zone(zoneID) + error.answerBytes
            }
        }
    }
    package var valueBytes: Int {
        zones.reduce(0) { sum, zone in
            guard case .page(let page) = zone else { return sum }
            return sum + page.records.valueBytes
        }
    }
    package var itemCount: Int {
        zones.reduce(0) { sum, zone in if case .page(let page) = zone { sum + page.records.count } else { sum + 1 } }
    }
}

extension FieldValue {
    fileprivate var answerBytes: Int {
        switch self {
        case .string(let value): JSONSize.text(value)
        case .int64(let value): JSONSize.integer(value)
        case .double: JSONSize.number
        case .timestamp: 2 * JSONSize.number
        case .bytes(let value): JSONSize.base64(value.count)
        case .location: JSONSize.location
        case .reference(let value): value.answerBytes
        case .asset(let value): value.answerBytes
        case .stringList(let values): values.reduce(0) { $0 + JSONSize.text($1) }
        case .int64List(let values): values.reduce(0) { $0 + JSONSize.integer($1) }
        case .doubleList(let values): values.count * JSONSize.number
        case .timestampList(let values): values.count * 2 * JSONSize.number
        case .bytesList(let values): values.reduce(0) { $0 + JSONSize.base64($1.count) }
        case .locationList(let values): values.count * JSONSize.location
        case .referenceList(let values): values.reduce(0) { $0 + $1.answerBytes }
        case .assetList(let values): values.reduce(0) { $0 + $1.answerBytes }
        case .emptyList: 2
        case .sealed(let value): JSONSize.base64(value.bytes.count) + JSONSize.text(value.keyID ?? "")
        }
    }
}

extension Reference {
    fileprivate var answerBytes: Int { JSONSize.text(recordName) + JSONSize.reference + JSONSize.zone(zoneID) }
}

extension Asset {
    fileprivate var answerBytes: Int {
        [fileChecksum, referenceChecksum, wrappingKey, receipt, downloadURL].reduce(JSONSize.asset) { $0 + ($1.map(JSONSize.text) ?? 0) }
    }
}

/// Bytes of the parts of an answer at most, with keys, braces and commas.
private enum JSONSize {
    /// All of a record except its names and fields, or of an error except its texts.
    static let record = 600
    /// A subscription with a predicate and some texts.
    static let subscription = 4096
    /// `"":{"value":,"type":"TIMESTAMP_LIST","isEncrypted":true,"nacre":{"keyID":""}},`
    static let field = 96
    /// All of a participant except names and addresses.
    static let participant = 300
    /// The longest double, quoted, and a comma.
    static let number = 28
    /// Seven components with their names, and a timestamp, twice.
    static let location = 420
    /// `{"recordName":,"action":"DELETE_SELF","zoneID":},`
    static let reference = 64
    /// An asset with a `downloadURL`, which most answers have and no stored record.
    static let asset = 160 + 600

    static func zone(_ zoneID: ZoneID?) -> Int {
        guard let zoneID else { return 0 }
        return 96 + text(zoneID.zoneName) + text(zoneID.ownerRecordName ?? "")
    }

    /// Bytes of a text, quoted, with its escapes and a comma.
    static func text(_ value: String) -> Int {
        var value = value
        return value.withUTF8 { bytes in
            var size = bytes.count + 3
            var rest = bytes[...]
            while !rest.isEmpty {
                // At most 240 bytes per step, which a byte can count: the compiler counts many at once, ten times as
                // fast.
                let part = UnsafeBufferPointer(rebasing: rest.prefix(240))
                rest = rest.dropFirst(240)
                var (short, long): (UInt8, UInt8) = (0, 0)
                for byte in part {
                    // Control characters are written as six bytes, or as two; quotes and backslashes as two.
                    long &+= byte < 0x20 ? 1 : 0
                    short &+= (byte == UInt8(ascii: "\"") ? 1 : 0) &+ (byte == UInt8(ascii: "\\") ? 1 : 0)
                }
                size += Int(short) + 5 * Int(long)
            }
            return size
        }
    }

    static func integer(_ value: Int64) -> Int {
        // A decimal digit stands for more than three bits; sign, quotes and comma are added.
        (64 - value.magnitude.leadingZeroBitCount) / 3 + 5
    }

    static func base64(_ count: Int) -> Int { (count + 2) / 3 * 4 + 3 }
}
