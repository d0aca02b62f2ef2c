#if canImport(NacreEncryption)
    import Foundation
    package import NacreCrypto
    package import NacreEncryption
    package import NacreEncryptionForms

    /// The account whose keys a file has: a user in one environment of a container on a server.
    package struct KeyAccount: Hashable, Sendable {
        /// The server's URL, without a slash at its end.
        package let server: String
        package let name: AccountName

        package init(server: String, name: AccountName) {
            var server = server
            while server.hasSuffix("/") { server.removeLast() }
            (self.server, self.name) = (server, name)
        }

        /// The name of the account's file.
        package var fileName: String {
            let parts = [server, name.container, name.environment, name.user].map { "\($0.utf8.count):\($0)" }
            return Hex.encode(Array(SHA256.digest(Array(parts.joined().utf8)).prefix(16)))
        }
    }

    /// The things that a device keeps of its account: its own keys, and what it has seen of keys on the server.
    package struct KeptKeys: Secret {
        /// A log of keys that was seen.
        package struct Pin: Hashable, Sendable {
            package let fingerprint: Digest
            package let head: ChainHead
        }

        /// The newest manifest that was seen of a zone's scope.
        package struct SeenScope: Hashable, Sendable {
            package let scope: ScopeID
            package let head: ChainHead
            /// The scopes that the zone's name had before, the newest last. A server that shows one again rolls back.
            package let before: [ScopeID]
            /// The name of the record of the share of records whose scope it is; nil: it is a zone's, or was never
            /// asked for by that name.
            package var share: String?
        }

        static let scopesMax = 10_000
        static let scopesBeforeMax = 20
        static let accountsMax = 5_000
        static let zonesWithWishesMax = 1_000
        /// The most wishes of a zone: two for each participant that a share may have.
        static let wishesMax = 200

        package var device: DeviceKeys?
        /// The secret of the recovery key, from when this device made it until its user has seen it.
        package var recovery: SecretBytes?
        package var own: Pin?
        /// The scopes by the names of their zones.
        package var scopes: [String: SeenScope] = [:]
        /// The tree of logs; nil: this device has seen none.
        package var tree: SeenTree?
        /// The scopes of zones that others share with the user: by the owner's record name, a space and the zone's
        /// name.
        package var sharedScopes: [String: SeenScope] = [:]
        /// The newest statements that were seen of other users' accounts, by the names of their records.
        package var accounts: [String: Pin] = [:]
        /// The wishes for shares of the user's own zones that no manifest has yet, by the names of the zones.
        package var wishes: [String: [ShareWish]] = [:]
        /// The passes over zones of the user's own that seal old data anew, by the names of the zones.
        package var passes: [String: Pass] = [:]

        package init() {}
    }

    extension KeyStore {
        /// Returns what this device keeps of an account.
        package func keys(of account: KeyAccount) async throws(CKError) -> KeptKeys {
            try await read(account.fileName) { [self] bytes throws(CKError) in
                try KeptKeys(bytes, of: account, at: path(of: account.fileName))
            }
        }

        /// Changes what this device keeps of an account, as `update` does.
        package func update<Value: Sendable>(
            _ account: KeyAccount, _ change: @escaping @Sendable (inout KeptKeys) throws(CKError) -> Value
        ) async throws(CKError) -> Value {
            try await update(account.fileName) { [self] bytes throws(CKError) in
                var kept = try KeptKeys(bytes, of: account, at: path(of: account.fileName))
                let before = kept.file(of: account)
                let value = try change(&kept)
                let after = kept.file(of: account)
                return (after == before ? nil : try after.bytes(), value)
            }
        }
    }

    /// The JSON of a file. Bytes are in hexadecimal.
    private struct KeyFile: Codable, Equatable {
        struct Pin: Codable, Equatable {
            var fingerprint: String
            var number: UInt64
            var hash: String
        }

        struct Scope: Codable, Equatable {
            var scope: String
            var number: UInt64
            var hash: String
            var before: [String]?
            var share: String?
        }

        struct Tree: Codable, Equatable {
            var server: String
            var head: String
            /// Two heads that are not of one tree.
            var doubt: [String]?
        }

        var version: Int
        var server: String
        var container: String
        var environment: String
        var user: String
        var signing: String?
        var agreement: String?
        var recovery: String?
        var account: Pin?
        var scopes: [String: Scope]?
        var tree: Tree?
        var sharedScopes: [String: Scope]?
        var accounts: [String: Pin]?
        var wishes: [String: [ShareWish]]?
        var passes: [String: KeptKeys.Pass]?
    }

    extension KeptKeys {
        /// Reads a file. No file is one without keys.
        fileprivate init(_ bytes: [UInt8]?, of account: KeyAccount, at path: String) throws(CKError) {
            self.init()
            guard let bytes else { return }
            do {
                let file = try JSONDecoder().decode(KeyFile.self, from: Data(bytes))
                guard file.version == 1, file.isOf(account) else { throw CryptoError(.invalidLength) }
                if let signing = file.signing, let agreement = file.agreement {
                    device = try DeviceKeys(signing: SecretBytes(Hex.decode(signing)), agreement: SecretBytes(Hex.decode(agreement)))
                }
                recovery = try file.recovery.map { SecretBytes(try Hex.decode($0)) }
                own = try file.account.map(Pin.init)
                scopes = try (file.scopes ?? [:]).mapValues(SeenScope.init)
                tree = try file.tree.map(SeenTree.init)
                sharedScopes = try (file.sharedScopes ?? [:]).mapValues(SeenScope.init)
                accounts = try (file.accounts ?? [:]).mapValues(Pin.init)
                wishes = file.wishes ?? [:]
                passes = file.passes ?? [:]
            } catch {
                throw .keysUnreadable(at: path)
            }
        }

        fileprivate func file(of account: KeyAccount) -> KeyFile {
            KeyFile(
                version: 1, server: account.server, container: account.name.container, environment: account.name.environment,
                user: account.name.user, signing: device.map { Hex.encode($0.kept.signing.exposed) },
                agreement: device.map { Hex.encode($0.kept.agreement.exposed) }, recovery: recovery.map { Hex.encode($0.exposed) },
                account: own.map(KeyFile.Pin.init), scopes: scopes.isEmpty ? nil : scopes.mapValues(KeyFile.Scope.init),
                tree: tree.map(KeyFile.Tree.init), sharedScopes: sharedScopes.isEmpty ? nil : sharedScopes.mapValues(KeyFile.Scope.init),
                accounts: accounts.isEmpty ? nil : accounts.mapValues(KeyFile.Pin.init), wishes: wishes.isEmpty ? nil : wishes,
                passes: passes.isEmpty ? nil : passes)
        }
    }

    extension KeyFile {
        func bytes() throws(CKError) -> [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            do {
                return [UInt8](try encoder.encode(self))
            } catch {
                throw .keysNotKept(error as NSError, at: "The file of keys")
            }
        }

        func isOf(_ account: KeyAccount) -> Bool {
            let name = account.name
            return server == account.server && container == name.container && environment == name.environment && user == name.user
        }
    }

    extension KeyFile.Pin {
        init(_ pin: KeptKeys.Pin) {
            self.init(fingerprint: Hex.encode(pin.fingerprint.bytes), number: pin.head.number, hash: Hex.encode(pin.head.hash.bytes))
        }
    }

    extension KeyFile.Scope {
        init(_ seen: KeptKeys.SeenScope) {
            self.init(
                scope: Hex.encode(seen.scope.bytes), number: seen.head.number, hash: Hex.encode(seen.head.hash.bytes),
                before: seen.before.isEmpty ? nil : seen.before.map { Hex.encode($0.bytes) }, share: seen.share)
        }
    }

    extension KeyFile.Tree {
        init(_ seen: SeenTree) {
            self.init(
                server: Hex.encode(seen.server.bytes), head: Hex.encode(seen.head.bytes),
                doubt: seen.doubt.map { [Hex.encode($0.kept.bytes), Hex.encode($0.shown.bytes)] })
        }
    }

    extension SeenTree {
        fileprivate init(_ seen: KeyFile.Tree) throws {
            let heads = try (seen.doubt ?? []).map { try TreeHead(try Hex.decode($0)) }
            self.init(
                server: try fixed(seen.server), head: try TreeHead(try Hex.decode(seen.head)),
                doubt: heads.count == 2 ? Doubt(kept: heads[0], shown: heads[1]) : nil)
        }
    }

    extension KeptKeys.Pin {
        fileprivate init(_ pin: KeyFile.Pin) throws {
            self.init(fingerprint: try fixed(pin.fingerprint), head: ChainHead(number: pin.number, hash: try fixed(pin.hash)))
        }
    }

    extension KeptKeys.SeenScope {
        fileprivate init(_ seen: KeyFile.Scope) throws {
            self.init(
                scope: try fixed(seen.scope), head: ChainHead(number: seen.number, hash: try fixed(seen.hash)),
                before: try (seen.before ?? []).map { try fixed($0) }, share: seen.share)
        }
    }

    /// Reads hexadecimal digits.
    private func fixed<Length: FixedLength>(_ text: String) throws -> FixedBytes<Length> {
        guard let value = FixedBytes<Length>(try Hex.decode(text)) else { throw CryptoError(.invalidLength) }
        return value
    }
#endif
