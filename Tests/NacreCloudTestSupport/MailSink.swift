import Foundation
import Glibc
import NacreLocks

/// An SMTP server for tests: it takes mails on its own port and keeps them.
package final class MailSink: Sendable {
    package struct Mail: Sendable {
        package var from: String
        package var to: String
        package var text: String

        /// The query of the mail's only link.
        package var link: String? { text.firstMatch(of: /\/(?:new-password|verify-address)(\?link=\S+)/).map { String($0.1) } }
    }

    private struct State {
        package var mails: [Mail] = []
        /// The reply to a mail's text.
        var reply = "250 taken"
        var attempts = 0
    }

    package let port: Int
    /// Each mail that it takes, once.
    package let arrivals: AsyncStream<Mail>
    private let arrived: AsyncStream<Mail>.Continuation
    private let listener: Int32
    private let state = Locked(State())

    package var mails: [Mail] { state.withLock { $0.mails } }
    package var attempts: Int { state.withLock { $0.attempts } }

    package init() throws {
        (arrivals, arrived) = AsyncStream.makeStream()
        listener = try LoopbackSocket.listener(backlog: 8)
        port = LoopbackSocket.port(of: listener)
        let thread = Thread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                serve(connection)
                Glibc.close(connection)
            }
        }
        thread.start()
    }

    /// Takes no more connections; the thread ends.
    package func close() {
        arrived.finish()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    package func answer(_ reply: String) { state.withLock { $0.reply = reply } }

    private func serve(_ connection: Int32) {
        guard let stream = fdopen(dup(connection), "r") else { return }
        defer { fclose(stream) }
        func say(_ line: String) {
            _ = Array((line + "\r\n").utf8).withUnsafeBytes {
                write(connection, $0.baseAddress, $0.count)
            }
        }
        func line() -> String? {
            var buffer = [CChar](repeating: 0, count: 2000)
            guard fgets(&buffer, 2000, stream) != nil else { return nil }
            return String(
                decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self
            ).trimmingCharacters(in: .newlines)
        }
        var mail = Mail(from: "", to: "", text: "")
        say("220 sink")
        while let command = line() {
            switch command.prefix(4).uppercased() {
            case "EHLO", "HELO": say("250 sink")
            case "MAIL":
                mail.from = String(command.dropFirst(10))
                say("250 ok")
            case "RCPT":
                mail.to = String(command.dropFirst(8))
                say("250 ok")
            case "DATA":
                say("354 go on")
                while let text = line(), text != "." { mail.text += text + "\n" }
                let (taken, reply) = (mail, state.withLock { $0.reply })
                state.withLock { state in
                    state.attempts += 1
                    if reply.hasPrefix("2") { state.mails.append(taken) }
                }
                say(reply)
                if reply.hasPrefix("2") { arrived.yield(taken) }
            case "QUIT":
                say("221 bye")
                return
            default: say("250 ok")
            }
        }
    }
}
