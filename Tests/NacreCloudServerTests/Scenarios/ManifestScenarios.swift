import Foundation
import NacreCloudTestSupport
import NacreCrypto

/// Manifests of encrypted values on the wire: docs/wire.md, "The manifest of encrypted values".
extension Scenario {
    private static let modifyPath = "private/records/modify"
    private static let inWork = Body.inWork + "," + Body.details

    private static func manifest(_ byte: UInt8, stamp: UInt64) -> [UInt8] {
        ManifestBytes(in: "Work", stamp: stamp, ["secret": [byte]]).written { SHA256.digest($0) }
    }

    private static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private static let (first, second) = (manifest(1, stamp: 1), manifest(2, stamp: 2))
    private static let (firstText, secondText) = (Expected(stringLiteral: text(first)), Expected(stringLiteral: text(second)))

    /// Returns the members of a record with the number `n` and an encrypted field.
    private static func record(_ byte: UInt8?, n: Int = 1, _ manifest: [UInt8]? = nil, over base: [UInt8]? = nil) -> String {
        let key = #""nacre":{"keyID":"\#(ManifestBytes.keyID(in: "Work"))"}"#
        let secret = byte.map { #","secret":{"value":"\#(text([$0]))","type":"STRING","isEncrypted":true,\#(key)}"# } ?? ""
        let members = [manifest.map { #""manifest":"\#(text($0))""# }, base.map { #""base":"\#(text(SHA256.digest($0)))""# }].compactMap(\.self)
        let details = members.isEmpty ? "" : #","nacre":{\#(members.joined(separator: ","))}"#
        return #""recordName":"r","recordType":"Secret","fields":{"n":{"value":\#(n)}\#(secret)}\#(details)"#
    }

    private static func save(_ record: String) -> Step {
        .post(modifyPath, .device("ada"), Body.modify("forceUpdate", record, inWork)).detailed
    }

    static let manifests: [Scenario] = [
        Scenario(
            "a zone takes encrypted values once it has the scope of their key", .makeWork(),
            save(record(1, first)).lacks(text([1])).gives(
                200,
                [
                    "records[0].serverErrorCode": "BAD_REQUEST", "records[0].nacre.field": "secret",
                    "records[0].reason": "the key of this encrypted value is not the newest of its scope",
                ]),
            .makeScope(in: "Work"), save(record(1, first)).gives(200, ["records[0].nacre.manifest": firstText])),
        Scenario(
            "the first encrypted value of a record needs a manifest, whose stamp is not far ahead", .makeWork(), .makeScope(in: "Work"),
            save(record(1)).lacks(text([1])).gives(
                200,
                [
                    "records[0].serverErrorCode": "BAD_REQUEST", "records[0].nacre.field": "secret",
                    "records[0].reason": "an encrypted value needs a record manifest",
                ]),
            save(record(1, manifest(1, stamp: 1 << 52))).gives(
                200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].nacre.field": "nacre.manifest"]),
            save(record(1, first)).gives(200, ["records[0].nacre.manifest": firstText])),
        Scenario(
            "a manifest comes with its record in every answer with details, whatever keys are wanted, and in no other", .makeWork(),
            .makeScope(in: "Work"),
            save(record(1, first)).gives(200, ["records[0].nacre.manifest": firstText]),
            .post("private/records/lookup", .ada, Body.lookup("r", more: Body.inWork)).lacks(text(first))
                .gives(200, ["records[0].fields.secret.isEncrypted": true]),
            .post("private/records/lookup", .device("ada"), Body.lookup("r", more: inWork + #","desiredKeys":[]"#)).detailed
                .gives(200, ["records[0].nacre.manifest": firstText, "records[0].fields.secret": .absent]),
            .index("Secret", "n"),
            .post(
                "private/records/query", .device("ada"),
                Body.query("Secret", filters: [Body.filter("n", "EQUALS", #"{"value":1}"#)], more: inWork + #","desiredKeys":["n"]"#)
            ).detailed.gives(200, ["records[0].nacre.manifest": firstText, "records[0].fields.secret": .absent]),
            .post(
                "private/changes/zone", .device("ada"),
                #"{"zones":[{"zoneID":{"zoneName":"Work"},"desiredKeys":[]}],\#(Body.details)}"#
            ).detailed.gives(200, ["zones[0].records[0].nacre.manifest": firstText])),
        Scenario(
            "a save over another manifest is a conflict, a client without keys changes plain fields, and no manifest is public", .makeWork(),
            .makeScope(in: "Work"),
            save(record(1, first)).gives(),
            save(record(2, second, over: second)).gives(
                200,
                ["records[0].serverErrorCode": "CONFLICT", "records[0].nacre.code": 14, "records[0].nacre.serverRecord.nacre.manifest": firstText]),
            save(record(2)).gives(
                200,
                [
                    "records[0].serverErrorCode": "BAD_REQUEST", "records[0].nacre.field": "secret",
                    "records[0].reason": "the record has a manifest, and this change needs a new one",
                ]),
            .post(modifyPath, .ada, Body.modify("forceUpdate", record(nil, n: 2), Body.inWork)).gives(200, ["records[0].fields.n.value": 2]),
            save(record(2, second, over: first)).gives(200, ["records[0].nacre.manifest": secondText]),
            save(record(3, second, over: first)).gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].nacre.field": "secret"]),
            .post("public/records/modify", .device("ada"), Body.modify("create", record(nil, first), Body.details)).detailed
                .gives(200, ["records[0].serverErrorCode": "BAD_REQUEST", "records[0].nacre.field": "nacre.manifest"])),
    ]
}
