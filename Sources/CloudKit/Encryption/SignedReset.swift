#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryptionForms
#endif

extension Conversation {
    /// Checks that a device of the user, or the recovery key, has signed the reset that the server tells of. Costs
    /// requests if this device has seen keys of the zones.
    ///
    /// - Parameter names: the zones; nil for those that this device has seen keys of.
    /// - Throws: `resetIsNotSigned`, so that the app keeps its data.
    func checkReset(ofZonesNamed names: [String]?) async throws(CKError) {
        #if canImport(NacreEncryption)
            guard scope == .private, names?.isEmpty != true, let exchange = try await keyExchange() else { return }
            try await exchange.checkReset(ofZonesNamed: names)
        #endif
    }
}

#if canImport(NacreEncryption)
    extension KeyExchange {
        fileprivate func checkReset(ofZonesNamed names: [String]?) async throws(CKError) {
            let kept = try await line.keyStore.keys(of: account)
            guard kept.own != nil, names.map({ $0.contains { kept.scopes[$0] != nil } }) ?? !kept.scopes.isEmpty else { return }
            guard try kept.isReset(try await shownAccount(), of: account.name) else { throw .resetIsNotSigned }
        }
    }

    extension KeptKeys {
        /// Whether the log of which this device has seen keys has ended with a signed reset, or follows one.
        func isReset(_ shown: ShownAccount, of account: AccountName) throws(CKError) -> Bool {
            guard let own else { return false }
            return try CKError.checking {
                let logs = try Self.logs(try shown.statements.map { try KeyStatement($0) }, of: account)
                guard let log = logs.first(where: { $0.fingerprint == own.fingerprint }) else { return false }
                try log.check(fingerprint: own.fingerprint, kept: own.head)
                return log.isReset || log.follows != .none
            }
        }
    }
#endif
