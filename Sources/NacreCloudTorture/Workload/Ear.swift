import Foundation
import NacreCloudWire
import NacreHTTPClient
import NacreLocks

/// Follows a device's event stream, and reconnects after each end of the server.
struct Ear: Sendable {
    /// The contents of a notification.
    struct News: Sendable {
        /// nil: the device is to fetch everything.
        var subscription: String?
        var record: String?
        var id: String
        var isPublic: Bool
    }

    /// The pause before a reconnection.
    private static let pause: Duration = .milliseconds(100)
    /// Events acknowledged together. A queue of a hundred becomes a notice to fetch everything.
    private static let acknowledgedAtOnce: Int64 = 20

    /// The device, at the private database of its user.
    let asker: Asker
    /// The ID of this stream; a device has a stream for each ID.
    let clientID: String
    /// Called with one notification after the other.
    let hear: @Sendable (News) async -> Void
    let isMalformed: @Sendable (Violation) -> Void
    private let connections = Locked(0)

    init(
        _ asker: Asker, clientID: String, isMalformed: @escaping @Sendable (Violation) -> Void, hear: @escaping @Sendable (News) async -> Void
    ) {
        (self.asker, self.clientID, self.isMalformed, self.hear) = (asker, clientID, isMalformed, hear)
    }

    /// Returns when the server knows the device.
    func hasBegun() async throws {
        let hasBegun = try await Patience(limit: Asker.patience).until { connections.withLock { $0 } > 0 }
        if !hasBegun { throw AskFault.silent("an event stream") }
    }

    /// Listens until it is cancelled.
    func listen() async {
        var last: String?
        var acknowledged: Int64 = 0
        while !Task.isCancelled {
            if let stream = await asker.events(of: clientID, after: last) {
                connections.withLock { $0 += 1 }
                var text: [UInt8] = []
                do {
                    for try await piece in stream {
                        text += piece
                        while let end = text.firstRange(of: Array("\n\n".utf8)) {
                            let event = String(decoding: text[..<end.lowerBound], as: UTF8.self)
                            text.removeSubrange(..<end.upperBound)
                            guard let id = await read(event) else { continue }
                            last = id
                            guard let number = Int64(id), number >= acknowledged + Self.acknowledgedAtOnce else { continue }
                            acknowledged = number
                            await asker.acknowledge(number, of: clientID)
                        }
                    }
                } catch {
                    // The server has ended, and comes back.
                }
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// Passes an event on.
    /// - Returns: The event's number.
    private func read(_ event: String) async -> String? {
        let lines = event.split(separator: "\n")
        guard let data = lines.first(where: { $0.hasPrefix("data: ") })?.dropFirst(6) else { return nil }
        if let part = try? JSONDecoder().decode(Payload.self, from: Data(data.utf8)).ck, let news = part.news {
            await hear(News(subscription: news.sid, record: news.rid, id: part.nid ?? "", isPublic: news.dbs == Self.publicNumber))
        } else {
            isMalformed(Violation(.unexpectedAnswer, "a notification is no payload: \(data)"))
        }
        return lines.first { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
    }

    /// CloudKit: `CKDatabase.Scope.public`.
    private static let publicNumber = 1

    private struct Payload: Decodable {
        struct News: Decodable {
            var sid: String?
            var rid: String?
            var dbs: Int?
        }

        struct CloudKitPart: Decodable {
            var nid: String?
            var qry: News?
            var fet: News?
            var met: News?

            var news: News? { qry ?? fet ?? met }
        }

        var ck: CloudKitPart
    }
}

extension Asker {
    /// Opens the event stream of one of the token's clients; nil where there is no answer, or a refusal for now.
    fileprivate func events(of clientID: String, after last: String?) async -> HTTPEvents? {
        guard let device, let url = URL(string: device.appendingPathComponent("notifications").absoluteString + "?clientId=\(clientID)") else {
            return nil
        }
        return await web.events(url, token: token, after: last)
    }

    /// Acknowledges all events up to a number for one of the token's clients. A signed-out one need not.
    fileprivate func acknowledge(_ number: Int64, of clientID: String) async {
        guard let device else { return }
        let request = DeviceNoteRequest(heard: number, clientID: clientID)
        _ = try? await Asker(web: web, root: device, token: token).ask("notifications", request.json(), as: Anything.self)
    }

    private var device: URL? {
        URL(string: root.deletingLastPathComponent().absoluteString.replacing("/database/1/", with: "/device/1/"))
    }

    /// Ends the token. A refusal means that an earlier attempt had done it.
    func signOut() async throws(AskFault) {
        let text = root.absoluteString
        guard let end = text.range(of: "/database/1/"), let server = URL(string: String(text[..<end.lowerBound])) else { return }
        do throws(AskFault) {
            _ = try await Asker(web: web, root: server, token: token).ask("account/1/sign-out", Array("{}".utf8), as: Anything.self)
        } catch {
            guard case .refused(let refusal) = error, [.authenticationFailed, .authenticationRequired, .notFound].contains(refusal.code) else {
                throw error
            }
        }
    }
}

/// Any JSON object, ignored.
private struct Anything: AnswerMessage {
    init(from reader: inout JSONReader) throws(JSONError) { try reader.skip() }
}
