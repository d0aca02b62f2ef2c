import Foundation
import FoundationNetworking

/// One zone, one client, and records that are each sent once, for tests with faults.
struct FaultedCloud: Sendable {
    static let zone = "Notes"

    let server: RunningServer
    let client: WebServicesClient

    /// Signs a user in on a running server, and makes the zone.
    init(_ server: RunningServer) async throws {
        self.server = server
        let cloud = try await NewCloud(server)
        try await cloud.addUser("ada@example.com")
        client = cloud.client(try await cloud.device(of: "ada@example.com"), keepsConnections: false)
        let made: RawZones = try await client.post("zones/modify", RawZonesModify(operations: [RawZoneOperation("create", Self.zone)]))
        guard made.zones.allSatisfy({ $0.serverErrorCode == nil }) else { throw UnexpectedAnswer(status: 200, body: "no zone") }
    }

    /// An answer with its relevant headers.
    struct Answer: Sendable {
        var status: Int
        var retryAfter: String?
        var body: Data
    }

    /// Sends one request on a connection of its own; nil when no answer came.
    func create(_ name: String, _ text: String = "") async -> Answer? {
        let record = RawRecord(recordName: name, recordType: "Note", fields: ["text": RawField(value: .text(text))])
        let message = RawModify(
            operations: [RawOperation(operationType: "create", record: record)], zoneID: RawZoneID(zoneName: Self.zone), atomic: true,
            nacre: RawExtension(operationID: name))
        guard let url = URL(string: "\(client.server)/database/1/\(client.container)/development/private/records/modify"),
            let body = try? WebServicesClient.bytes(message)
        else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(client.token)", forHTTPHeaderField: "Authorization")
        request.setValue("close", forHTTPHeaderField: "Connection")
        guard let (data, response) = try? await URLSession.shared.answer(to: request), let http = response else { return nil }
        return Answer(status: http.statusCode, retryAfter: http.value(forHTTPHeaderField: "Retry-After"), body: data)
    }

    /// Returns whether the record was saved and acknowledged.
    func isCreated(_ name: String, _ text: String = "") async -> Bool {
        guard let answer = await create(name, text), answer.status == 200 else { return false }
        return (try? JSONDecoder().decode(RawRecords.self, from: answer.body))?.records.allSatisfy { $0.serverErrorCode == nil } ?? false
    }

    /// texts[name]: the text of each record that exists.
    func texts(of names: [String]) async throws -> [String: String] {
        var texts: [String: String] = [:]
        for start in stride(from: 0, to: names.count, by: 200) {
            let some = Array(names[start..<min(start + 200, names.count)])
            let answer: RawRecords = try await client.post("records/lookup", RawLookup(some, in: Self.zone))
            for record in answer.records where record.serverErrorCode == nil {
                if let name = record.recordName { texts[name] = record.text("text") ?? "" }
            }
        }
        return texts
    }
}
