import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreCrypto

/// JSON Web Tokens signed by ECDSA on P-256 (RFC 7519; RFC 7518, 3.4), with which the server identifies itself to push
/// services.
enum ES256Token {
    /// - Parameter claims: writes the token's claims.
    static func text(
        keyID: String?, key: P256.PrivateKey, _ claims: (inout JSONWriter) -> Void
    ) throws(CryptoError) -> String {
        let head = part { writer in
            writer.write("typ", "JWT")
            writer.write("alg", "ES256")
            writer.write(ifPresent: "kid", keyID)
        }
        let signed = "\(head).\(part(claims))"
        return "\(signed).\(Base64URL.encode(try key.signPair(Array(signed.utf8))))"
    }

    private static func part(_ members: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(capacity: 256)
        writer.beginObject()
        members(&writer)
        writer.endObject()
        return Base64URL.encode(writer.finish())
    }
}

extension Timestamp {
    /// Whole seconds since 1970, the unit of tokens and push services.
    var secondsSince1970: Int64 { millisecondsSince1970 / 1000 }
}
