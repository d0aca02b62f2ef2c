#if canImport(NacreEncryption)
    import NacreCrypto
    import NacreEncryptionForms

    /// The scope of a zone that is asked for.
    enum WhichScope: Hashable, Sendable {
        case zone
        /// The scope of a share of records, by the name of the share's record.
        case share(String)
        /// The scope of a share of records, by its ID.
        case id(ScopeID)

        var share: String? { if case .share(let name) = self { name } else { nil } }
        var id: ScopeID? { if case .id(let id) = self { id } else { nil } }
    }

    extension KeyExchange {
        /// Asks the server and takes its answer. Does both again if that fails while another task or process has kept
        /// something newer: an answer from before cannot extend it, and the server has done nothing wrong.
        /// - Parameters:
        ///   - seen: the kept value that the answer must extend.
        ///   - ask: fails with `internalError` if the answer does not extend it.
        func untilCurrent<Seen: Equatable, Value>(
            _ seen: KeyPath<KeptKeys, Seen>, _ ask: () async throws(CKError) -> Value
        ) async throws(CKError) -> Value {
            for _ in 0..<Self.triesMax {
                let before = try await line.keyStore.keys(of: account)[keyPath: seen]
                do throws(CKError) {
                    return try await ask()
                } catch {
                    guard error.code == .internalError else { throw error }
                    guard try await line.keyStore.keys(of: account)[keyPath: seen] != before else { throw error }
                }
            }
            throw .keysAreBusy
        }

        /// Asks for a scope of a zone, verifies and opens it; nil if there is none.
        func currentScope(of place: Place, _ which: WhichScope = .zone) async throws(CKError) -> (keys: ZoneKeys, own: OwnKeys)? {
            try await untilCurrent(KeptKeys.scopes(of: place, for: account.name)) { () throws(CKError) in
                guard let shown = try await scope(of: place, which) else { return nil }
                return try await open(shown, at: place)
            }
        }
    }

    extension KeptKeys {
        /// The newest manifests that were seen of the scopes of the user's own zones, or of those of others.
        /// - Parameter account: the user's own.
        static func scopes(of place: Place, for account: AccountName) -> WritableKeyPath<KeptKeys, [String: SeenScope]> {
            place.owner == account ? \.scopes : \.sharedScopes
        }

        /// The name of a zone's own scope, or of the scope of a share of its records, among the kept ones. No zone has
        /// a line feed in its name.
        static func name(ofScope parts: ScopeManifest.Parts, for account: AccountName) -> String {
            let zone = parts.place.owner == account ? parts.place.zone : name(ofShared: parts.place)
            return parts.root.isEmpty ? zone : "\(zone)\n\(Hex.encode(parts.scope.bytes))"
        }

        /// The scopes of shares of a zone's records that were seen.
        /// - Parameter parts: those of the zone's own scope.
        func scopesOfShares(beside parts: ScopeManifest.Parts, for account: AccountName) -> Set<ScopeID> {
            let name = "\(Self.name(ofScope: parts, for: account))\n"
            return Set(self[keyPath: Self.scopes(of: parts.place, for: account)].filter { $0.key.hasPrefix(name) }.values.map(\.scope))
        }

        /// The name of a share among the wishes.
        /// - Parameter share: the name of the record of a share of records; nil: the zone is shared as a whole.
        static func name(ofShare share: String?, inZone zone: String) -> String { share.map { "\(zone)\n\($0)" } ?? zone }

        /// The name of the zone in the name of a scope or of a share.
        static func zone(in name: String) -> String { String(name.prefix { $0 != "\n" }) }

        /// The names of the user's own zones whose scopes were seen.
        var ownZones: [String] { Set(scopes.keys.map(Self.zone)).sorted() }

        /// The scopes of shares of records of the user's own zones that were seen, by the names of the zones.
        var ownShares: [(zone: String, scope: ScopeID)] {
            scopes.filter { $0.key.contains("\n") }.map { (Self.zone(in: $0.key), $0.value.scope) }.sorted { $0.zone < $1.zone }
        }

        /// Returns whether a share of records of a zone of the user's own was seen to have keys, by its name.
        func hasOwnShare(_ share: String, inZone zone: String) -> Bool {
            scopes.contains { $0.value.share == share && Self.zone(in: $0.key) == zone }
        }

        /// The name of another user's zone among the kept scopes.
        static func name(ofShared place: Place) -> String { "\(place.owner.user) \(place.zone)" }
    }
#endif
