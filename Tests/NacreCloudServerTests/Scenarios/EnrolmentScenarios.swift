import NacreCloudWire
import NacreCrypto

/// Enrolments on the wire: docs/wire.md, "Keys". The messages are written by docs/encryption.md alone.
extension Scenario {
    private static func hash(_ label: String, _ parts: [[UInt8]]) -> [UInt8] {
        SHA256.digest(([Array(label.utf8)] + parts).flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 })
    }

    private static let (signing, agreement) = (SHA256.digest(Array("signs".utf8)), SHA256.digest(Array("agrees".utf8)))
    private static let random = [UInt8](repeating: 3, count: 32)
    private static let commitment: [UInt8] = [1, 11] + hash("nacre enrolment commitment", [signing, agreement, random])
    private static let answer = answer(1)
    private static let opening: [UInt8] = [1, 13] + signing + agreement + random + [UInt8](repeating: 4, count: 64)

    private static func answer(_ byte: UInt8) -> [UInt8] {
        let (fingerprint, number, head) = ([UInt8](repeating: 5, count: 32), [UInt8](repeating: 0, count: 8), [UInt8](repeating: 5, count: 32))
        let (device, random) = ([UInt8](repeating: 6, count: 16), [UInt8](repeating: byte, count: 32))
        return [1, 12] + SHA256.digest(commitment) + fingerprint + number + head + device + random
    }

    private static func post(_ message: [UInt8], _ sender: Sender = .device("ada")) -> Step {
        .post("private/keys/enrolment/post", sender, #"{"message":"\#(Base64.encode(message))"}"#)
    }

    private static func list(_ sender: Sender = .device("ada")) -> Step { .post("private/keys/enrolment/list", sender) }

    private static func text(_ bytes: [UInt8]) -> Expected { .equals(.string(Base64.encode(bytes))) }

    static let enrolments: [Scenario] = [
        Scenario(
            "a device's messages go to its user's devices, and to no other user",
            post(opening).gives(404), post(commitment).gives(), post(opening).gives(400), post(answer).gives(),
            post(answer(2)).gives(409, ["serverErrorCode": "CONFLICT"]), post(opening).gives(), post(opening).gives(),
            list().gives(
                200,
                [
                    "conversations": .count(1), "conversations[0].commitment": text(commitment), "conversations[0].answer": text(answer),
                    "conversations[0].opening": text(opening),
                ]),
            list(.device("bob")).lacks(Base64.encode(commitment), Base64.encode(answer), Base64.encode(opening))
                .gives(200, ["conversations": .count(0)]),
            post(answer, .device("bob")).lacks(Base64.encode(commitment)).gives(404),
            .post("public/keys/enrolment/list", .device("ada")).detailed.gives(400),
            .post("shared/keys/enrolment/list", .device("ada")).detailed.gives(400),
            .later(599), list().gives(200, ["conversations": .count(1)]), .later(2), list().gives(200, ["conversations": .count(0)])),
        Scenario(
            "a message of no form of an enrolment is refused",
            post([1, 11]).gives(400, ["serverErrorCode": "BAD_REQUEST"]), post([]).gives(400), post([2] + commitment.dropFirst()).gives(400),
            post(commitment + [UInt8](repeating: 0, count: 1024)).gives(400), list().gives(200, ["conversations": .count(0)])),
    ]
}
