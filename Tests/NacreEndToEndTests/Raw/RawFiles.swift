import Foundation
import FoundationNetworking

/// Files of records, which a client sends and fetches by the wire alone.
struct RawFiles: Sendable {
    let client: WebServicesClient
    let zone: String

    struct Refusal: Error, Equatable {
        var status: Int
        var code: String?
        var retryAfter: Int?
    }

    /// Sends a file for a field of a record.
    /// - Returns: The dictionary that a save carries.
    func send(_ bytes: [UInt8], for record: String) async throws -> [String: Any] {
        let places = try await ask(
            "assets/upload",
            ["zoneID": ["zoneName": zone], "tokens": [["recordName": record, "recordType": "Photo", "fieldName": "image"]]])
        guard let url = ((places["tokens"] as? [[String: Any]])?.first?["url"] as? String).flatMap(URL.init(string:)) else {
            throw UnexpectedAnswer(status: 200, body: "\(places)")
        }
        var request = URLRequest(url: url)
        request.setValue("close", forHTTPHeaderField: "Connection")
        let answer = try await WebServicesClient.send(request, Data(bytes), over: .shared)
        return try Self.object(answer)["singleFile"] as? [String: Any] ?? [:]
    }

    /// Sends a file and saves the record that has it.
    func save(_ bytes: [UInt8], in record: String) async throws {
        let file = try await send(bytes, for: record)
        let fields: [String: Any] = ["image": ["value": file, "type": "ASSETID"]]
        let operation: [String: Any] = [
            "operationType": "forceUpdate", "record": ["recordName": record, "recordType": "Photo", "fields": fields],
        ]
        let answer = try await ask("records/modify", ["zoneID": ["zoneName": zone], "operations": [operation]])
        guard let saved = (answer["records"] as? [[String: Any]])?.first, saved["serverErrorCode"] == nil else {
            throw UnexpectedAnswer(status: 200, body: "\(answer)")
        }
    }

    /// Returns the bytes of a record's file; nil: there is no record of this name.
    func bytes(of record: String) async throws -> [UInt8]? {
        let answer = try await ask("records/lookup", ["zoneID": ["zoneName": zone], "records": [["recordName": record]]])
        guard let found = (answer["records"] as? [[String: Any]])?.first, let fields = found["fields"] as? [String: [String: Any]],
            let url = (fields["image"]?["value"] as? [String: Any])?["downloadURL"] as? String
        else { return nil }
        var request = URLRequest(url: try WebServicesClient.url(url.replacingOccurrences(of: "${f}", with: "photo.jpg")))
        request.setValue("close", forHTTPHeaderField: "Connection")
        let file = try await WebServicesClient.send(request, nil, over: .shared)
        guard file.status == 200 else { throw UnexpectedAnswer(status: file.status, body: String(decoding: file.body, as: UTF8.self)) }
        return Array(file.body)
    }

    /// Makes the zone, or deletes it with all its records.
    func zone(_ operation: String) async throws {
        _ = try await ask("zones/modify", ["operations": [["operationType": operation, "zone": ["zoneID": ["zoneName": zone]]]]])
    }

    private func ask(_ path: String, _ message: [String: Any]) async throws -> [String: Any] {
        try Self.object(try await client.post(path, try JSONSerialization.data(withJSONObject: message)))
    }

    private static func object(_ answer: WebServicesClient.Answer) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: answer.body) as? [String: Any] ?? [:]
        guard answer.status == 200 else {
            throw Refusal(status: answer.status, code: object["serverErrorCode"] as? String, retryAfter: object["retryAfter"] as? Int)
        }
        return object
    }

    /// Returns bytes whose first part is one of a few, so that files share chunks, and whose rest depends on the
    /// number.
    static func bytes(_ number: Int) -> [UInt8] {
        func run(_ count: Int, _ seed: UInt64) -> [UInt8] {
            var state = seed
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count + 8)
            while bytes.count < count {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                withUnsafeBytes(of: state ^ state >> 29) { bytes += $0 }
            }
            return Array(bytes.prefix(count))
        }
        return run([0, 200_000, 600_000][number % 3], UInt64(number % 3)) + run(1000 + number * 7919 % 500_000, UInt64(1000 + number))
    }
}
