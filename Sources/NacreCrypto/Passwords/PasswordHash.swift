import CNacreSodium
import Glibc

/// Passwords as Argon2id hashes (RFC 9106), in the text form that carries its own salt and cost.
///
/// At the usual cost every call blocks its thread for 50 to 100 ms and takes 64 MiB of memory. Call through
/// `PasswordHasher`, which bounds both. A password is its UTF-8 bytes. A caller that wants two spellings of one letter
/// to be one password normalizes first.
package enum PasswordHash {
    /// The longest password, in bytes of UTF-8. Argon2id would take 4 GiB, which would let anybody keep the server busy
    /// for free.
    package static let passwordBytesMaximum: Int = 1_024

    /// The dearest hash that `verify` computes, in KiB and in passes: a few times the usual cost. The usual cost can
    /// therefore be raised and lowered again, while a hash from an imported archive cannot claim the whole machine.
    static let verifiedMemoryKiBMaximum = 256 << 10
    static let verifiedPassesMaximum = 8

    /// Returns a new hash under a new salt: less than 128 bytes of ASCII.
    package static func hash(_ password: String, at cost: Cost = .usual) throws(CryptoError) -> String {
        let password = try characters(of: password)
        try Sodium.start()
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        let result = crypto_pwhash_str(&text, password, UInt64(password.count), UInt64(cost.passes), cost.memoryKiB << 10)
        // The only failure is memory that could not be allocated.
        guard result == 0 else { throw CryptoError(.outOfMemory) }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether the password is the one that was hashed.
    /// - Throws: `malformedPasswordHash` if `stored` is no Argon2id hash or too dear; `outOfMemory`, after which the
    ///   password may be right or wrong.
    package static func verify(_ password: String, against stored: String) throws(CryptoError) -> Bool {
        let password = try characters(of: password)
        guard let cost = Cost(of: stored), cost.isBearable else { throw CryptoError(.malformedPasswordHash) }
        try Sodium.start()
        let failure: Int32? = stored.withCString { stored in
            errno = 0
            return crypto_pwhash_str_verify(stored, password, UInt64(password.count)) == 0 ? nil : errno
        }
        switch failure {
        case nil: return true
        case EINVAL: return false
        // libsodium sets EINVAL for a wrong password. After any other error it did not compare.
        default: throw CryptoError(.outOfMemory)
        }
    }

    /// Does the work of verifying a password against a hash of this cost, and returns false. For a user who does not
    /// exist, so that the time of an answer does not tell which users exist.
    package static func verifyUnknown(_ password: String, at cost: Cost = .usual) throws(CryptoError) -> Bool {
        _ = try verify(password, against: decoy(of: cost))
        return false
    }

    /// Returns a hash of this cost, with a salt and a digest of zeros.
    static func decoy(of cost: Cost) -> String {
        "$argon2id$v=19$m=\(cost.memoryKiB),t=\(cost.passes),p=1$\(String(repeating: "A", count: 22))$\(String(repeating: "A", count: 43))"
    }

    private static func characters(of password: String) throws(CryptoError) -> [CChar] {
        guard password.utf8.count <= passwordBytesMaximum else { throw CryptoError(.passwordTooLong) }
        return password.utf8.map(CChar.init(bitPattern:))
    }
}

extension PasswordHash {
    /// The memory and time that a hash takes, as `$argon2id$v=19$m=65536,t=2,p=1$salt$digest` states it.
    package struct Cost: Hashable, Sendable {
        var memoryKiB: Int
        /// The number of times that the memory is filled.
        var passes: Int
        var lanes = 1

        /// libsodium's "interactive" limits. RFC 9106 §4 recommends as much where memory is short.
        package static let usual = Cost(memoryKiB: 64 << 10, passes: 2)
        /// libsodium's least cost, for the passwords of emulators and tests, which protect nothing and end with their
        /// process.
        package static let least = Cost(memoryKiB: 8, passes: 1)

        private init(memoryKiB: Int, passes: Int) { (self.memoryKiB, self.passes) = (memoryKiB, passes) }

        init?(of stored: String) {
            guard stored.utf8.count < Int(crypto_pwhash_STRBYTES), stored.utf8.allSatisfy({ (33...126).contains($0) }) else { return nil }
            let parts = stored.split(separator: "$", omittingEmptySubsequences: false)
            guard parts.count == 6, parts[0].isEmpty, parts[1] == "argon2id", parts[2] == "v=19" else { return nil }
            let costs = parts[3].split(separator: ",", omittingEmptySubsequences: false)
            guard costs.count == 3,
                let memoryKiB = Self.number(costs[0], after: "m="),
                let passes = Self.number(costs[1], after: "t="),
                let lanes = Self.number(costs[2], after: "p=")
            else { return nil }
            self.memoryKiB = memoryKiB
            self.passes = passes
            self.lanes = lanes
        }

        var isBearable: Bool {
            (1...verifiedMemoryKiBMaximum).contains(memoryKiB) && (1...verifiedPassesMaximum).contains(passes) && lanes == 1
        }

        private static func number(_ text: Substring, after prefix: String) -> Int? {
            text.hasPrefix(prefix) ? Int(text.dropFirst(prefix.count)) : nil
        }
    }
}
