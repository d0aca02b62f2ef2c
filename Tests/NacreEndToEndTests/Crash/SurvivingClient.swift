import Foundation

/// A client that outlives its server: it sends lost requests again with the same bytes, once the server is back.
struct SurvivingClient: Sendable {
    let client: WebServicesClient
    let server: RunningServer

    /// Attempts of one request at most. Each round kills once; more attempts mean that it never succeeds.
    private static let attemptsMax = 200

    func post<Message: Decodable>(_ path: String, _ message: some Encodable, as type: Message.Type = Message.self) async throws -> Message {
        let bytes = try WebServicesClient.bytes(message)
        for _ in 0..<Self.attemptsMax {
            await server.whenUp()
            // After any network error the outcome is unknown.
            guard let answer = try? await client.post(path, bytes) else { continue }
            do {
                return try answer.read(type)
            } catch let error as RawError where error.serverErrorCode == "TRY_AGAIN_LATER" {
                continue
            }
        }
        throw UnexpectedAnswer(status: 0, body: "no answer to \(path) in \(Self.attemptsMax) attempts")
    }
}

extension ZoneNotes.Sighting {
    /// Makes a sighting of a record in an answer.
    init?(_ record: RawRecord) {
        guard let name = record.recordName else { return nil }
        self.init(record: name, version: record.text("version"), tag: record.recordChangeTag)
    }
}
