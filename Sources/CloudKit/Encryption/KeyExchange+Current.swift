#if canImport(NacreEncryption)
    import NacreEncryptionForms

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

        /// Asks for the scope of a zone, verifies and opens it; nil if the zone has none.
        func currentScope(of place: Place) async throws(CKError) -> (keys: ZoneKeys, own: OwnKeys)? {
            try await untilCurrent(KeptKeys.scope(of: place, for: account.name)) { () throws(CKError) in
                guard let shown = try await scope(of: place) else { return nil }
                return try await open(shown, at: place)
            }
        }
    }

    extension KeptKeys {
        /// The newest manifest that was seen of a zone's scope.
        /// - Parameter account: the user's own.
        static func scope(of place: Place, for account: AccountName) -> KeyPath<KeptKeys, SeenScope?> {
            let (zone, name) = (place.zone, Self.name(ofShared: place))
            return place.owner == account ? \.scopes[zone] : \.sharedScopes[name]
        }

        /// The name of another user's zone among the kept scopes.
        static func name(ofShared place: Place) -> String { "\(place.owner.user) \(place.zone)" }
    }
#endif
