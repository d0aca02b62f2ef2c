import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudServer
@testable import NacreCloudStorage
@testable import NacreHTTPServer

/// Tests of devices with an open event stream that read nothing, like a suspended app, or little, like one on a bad
/// link.
@Suite(.timeLimit(.minutes(5))) struct DeafListenerTests {
    private static let saves = 200
    private static let notesASave = 50
    /// Bytes of a stream that the sockets of both sides buffer: Linux lets the sender's grow to 4 MB.
    private static let socketBytes = 6 * 1024 * 1024

    private static func rows(_ scene: NotificationScene, _ kind: EntryKind) async throws -> [EntryRow] {
        try await scene.server.store.read { try $0.rows(of: .entries, after: nil, limit: 50_000) }.compactMap { row in
            if case .entry(let entry) = row.value, entry.key.kind == kind { entry } else { nil }
        }
    }

    /// Returns whether notifications of a save are still due.
    private static func isTelling(_ scene: NotificationScene) async throws -> Bool {
        let end = Timestamp(secondsSince2001: 1e12)
        return try await !scene.server.store.read { try $0.tasks(of: [.fireSubscriptions], dueThrough: end, limit: 1) }.isEmpty
    }

    /// Returns the number and the rest of each event, in their order. An event has no carriage return, but chunk
    /// framing has.
    private static func events(_ text: String) -> [(number: Int64, text: Substring)] {
        let frame = /\r\n[0-9A-Fa-f]+\r\n/.matchingSemantics(.unicodeScalar)
        return text.replacing(frame, with: "").split(separator: "\n\nid: ").compactMap { part in
            let lines = part.split(separator: "\n", maxSplits: 1)
            return lines.count == 2 ? Int64(lines[0]).map { ($0, lines[1]) } : nil
        }
    }

    @Test func `ten thousand notifications for streams that are not read or read slowly take a bounded room, and who missed some hears so`()
        async throws
    {
        let scene = try await NotificationScene(requestRate: nil)
        let alert = String(repeating: "x", count: Limits.payloadBytes - 600)
        try await scene.subscribe(
            #""subscriptionID":"notes","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],"#
                + #""notificationInfo":{"alertBody":"\#(alert)"}"#)
        let deaf = try await scene.stream(clientID: "deaf", receiveBuffer: 4096)
        let slow = try await scene.stream(clientID: "slow", receiveBuffer: 4096)
        var heard = ""
        for save in 0..<Self.saves {
            try await scene.save((0..<Self.notesASave).map { "n\(save)-\($0)" }, as: "ada")
            heard += try await slow.text(through: "}}}\n\n")
        }
        // Until all notifications are delivered.
        while try await Self.isTelling(scene) {}
        let kept = try await Self.rows(scene, .notification)
        #expect(kept.count <= 2 * Limits.notificationsPerDevice)

        for (name, stream, before) in [("deaf", deaf, ""), ("slow", slow, heard)] {
            // Its next stream ends it: events of it until then were made, and not read.
            let next = try await scene.stream(clientID: name)
            let untaken = String(decoding: try await stream.rest(), as: UTF8.self)
            let bytes = untaken.utf8.count
            #expect(bytes <= Self.socketBytes + 2 * ServerLimits.bufferedBytesMax, "of \(Self.saves * Self.notesASave * alert.count)")
            let told = Self.events(before + untaken)
            #expect(told.count >= 20 && told.map(\.number) == told.map(\.number).sorted() && Set(told.map(\.number)).count == told.count)
            for (one, other) in zip(told, told.dropFirst()) where other.number != one.number + 1 {
                #expect(other.text.contains(#""met""#), "\(name): nothing tells of what lies between \(one.number) and \(other.number)")
            }
            let first = try await next.text(through: "}}\n\n")
            #expect(first.contains(#""met""#) && !first.contains(#""sid""#), "\(name): \(first)")
            // The notice names its device by the beginning of its row's key, and each device counts by itself.
            let own = kept.filter { row in first.contains(row.key.key.prefix { $0 != " " }) }
            let newest = try #require(own.compactMap { try? QueuedNotification($0).number }.max(), "\(first)")
            let answer = try await scene.post(NotificationScene.path, #"{"heard":\#(newest),"clientId":"\#(name)"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        #expect(try await Self.rows(scene, .notification).isEmpty)
        await scene.server.server.shutdown()
    }
}
