import NacreCloudAccounts
import NacreCloudContainer

/// Fuzzes the input from a browser's authenticator: CBOR, authenticator data, client data.
enum PasskeyTarget {
    static func run(_ input: UnsafeRawBufferPointer) {
        let bytes = [UInt8](input)
        var reader = CBORReader(bytes[...])
        if let value = reader.value() {
            let read = Array(bytes[..<reader.rest.startIndex])
            promise("what was read is the same value by itself", CBOR(read) == value)
            promise("a value does not go on", CBOR(read + [0]) == nil)
            promise("a part of a value is none", CBOR(Array(read.dropLast())) == nil)
        }
        if let data = AuthenticatorData(bytes) {
            promise("a relying party has 32 bytes", data.relyingParty.count == 32)
            if let id = data.credential?.id {
                promise("an ID is within its bounds", (1...1023).contains(id.count))
            }
        }
        let question = PasskeyQuestion(challenge: "", origin: "", relyingParty: [])
        let client = PasskeyClientData(json: bytes)
        promise(
            "nothing that was not asked signs in",
            PasskeyRule.fault(
                client, AuthenticatorData(bytes), for: question, passkey: nil, isSigned: true)
                != nil)
        promise(
            "nothing that was not asked is added",
            (try? PasskeyRule.made(client, attestation: bytes, for: question)) == nil)
        let text = String(decoding: bytes, as: UTF8.self)
        if let decoded = Base64URL.decode(text) {
            promise("base64 is written in one way", Base64URL.encode(decoded) == text)
        }
    }
}
