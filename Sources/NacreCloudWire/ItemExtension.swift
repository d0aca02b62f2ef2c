/// Our additions to one item of an answer: the object `nacre` inside it; see `docs/wire.md`.
///
/// One type serves all kinds of items: their keys do not collide, and the kind is known only after the whole item was
/// read.
struct ItemExtension {
    // Errors.
    var code: Int?
    var internalCode: Int?
    var field: String?
    var remedy: String?
    var serverRecord: Box<Record>?
    // Records.
    var created: Double?
    var modified: Double?
    var recordType: String?
    var manifest: [UInt8]?
    // Shares.
    var allowsAccessRequests = false
    var requesters: [ParticipantIdentity] = []
    var blockedIdentities: [ParticipantIdentity] = []
    // Zones and pages.
    var deletionReason: ZoneDeletionReason?
    var isMidCommit = false
    var isSharedWhole = false
    var clientChangeToken: [UInt8]?

    init() {}

    init(from reader: inout JSONReader) throws(JSONError) {
        if try reader.takeNull() { return }
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "code": code = try reader.optionalInteger()
            case "internalCode": internalCode = try reader.optionalInteger()
            case "field": field = try reader.optionalString()
            case "remedy": remedy = try reader.optionalString()
            case "serverRecord": serverRecord = try reader.takeNull() ? nil : Box(try Record(from: &reader))
            case "created": created = try reader.optionalDouble()
            case "modified": modified = try reader.optionalDouble()
            case "recordType": recordType = try reader.optionalString()
            case "manifest": manifest = try reader.optionalBase64()
            case "allowsAccessRequests": allowsAccessRequests = try reader.optionalBoolean() ?? false
            case "requesters": requesters = try reader.optionalIdentities() ?? []
            case "blockedIdentities": blockedIdentities = try reader.optionalIdentities() ?? []
            case "reason": deletionReason = try reader.takeNull() ? nil : try reader.name(of: ZoneDeletionReason.self)
            case "midCommit": isMidCommit = try reader.optionalBoolean() ?? false
            case "zoneWideShare": isSharedWhole = try reader.optionalBoolean() ?? false
            case "clientChangeToken": clientChangeToken = try reader.optionalBase64()
            default: try reader.skip()
            }
        }
    }
}
