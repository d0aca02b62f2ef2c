#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms

    // The zones of a device that is removed. No key counts that comes from a device which is not enrolled, so that
    // another device makes the next one.

    extension OwnKeys {
        /// Returns the participants of the manifest that takes a scope over from a removed device: those whom an
        /// enrolled device has signed, as far as the newest manifest has them still. The removed device adds nobody.
        /// - Parameters:
        ///   - newest: the parts of the newest manifest, by the removed device.
        ///   - signed: those of the newest one by a device that is enrolled; nil: there is none.
        ///   - logs: the newest logs of accounts by the names of their users.
        func participants(
            takingOver newest: ScopeManifest.Parts, signed: ScopeManifest.Parts?, logs: [String: KeyLog]
        ) -> [ScopeManifest.Participant] {
            guard let signed else { return [owner] }
            return participants(after: signed, wishes: [], list: nil, logs: logs).compactMap { one in
                guard let now = newest.participants.first(where: { $0.fingerprint == one.fingerprint }), now.permission != .none else { return nil }
                return ScopeManifest.Participant(
                    user: one.user, fingerprint: one.fingerprint, head: one.head,
                    permission: now.permission.rawValue < one.permission.rawValue ? now.permission : one.permission,
                    role: now.role == one.role ? one.role : .privateUser)
            }
        }
    }

    extension ShownScope {
        /// Returns the newest manifest that a device signed which is enrolled in a log.
        fileprivate func newest(signedIn log: KeyLog) throws(CKError) -> ScopeManifest? {
            try CKError.checking {
                for bytes in manifests {
                    let manifest = try ScopeManifest(bytes)
                    if manifest.signer == log.fingerprint, log.device(manifest.device) != nil { return manifest }
                }
                return nil
            }
        }
    }

    extension KeyExchange {
        /// Makes another key of a zone of the user's own if a device has sealed or signed the newest one: nobody can
        /// open that after the device is removed.
        /// - Parameters:
        ///   - which: the zone's own scope, or that of a share of its records.
        ///   - before: the account's log as it was before the device's removal; nil: the device is enrolled.
        /// - Returns: whether the scope has another key now.
        @discardableResult
        func takeOver(_ place: Place, _ which: WhichScope = .zone, from device: DeviceID, before: KeyLog? = nil) async throws(CKError) -> Bool {
            var isDone = false
            for _ in 0..<Self.triesMax {
                guard let shown = try await scope(of: place, which),
                    let request = try await takingOver(try await withLogs(shown), at: place, from: device, before)
                else { return isDone }
                try await send(request, at: place)
                isDone = true
            }
            throw .keysAreBusy
        }

        /// Makes the request that takes a scope over; nil if it is not needed.
        private func takingOver(
            _ shown: ShownScope, at place: Place, from device: DeviceID, _ before: KeyLog?
        ) async throws(CKError) -> KeysScopesModifyRequest? {
            do throws(CKError) {
                let (keys, own) = try await open(shown, at: place)
                guard keys.manifest.device == device || keys.sender == device else { return nil }
                return try successor(
                    of: keys, by: own, own.participants(after: keys.manifest.parts, wishes: [], list: nil, logs: keys.logs))
            } catch {
                guard let before, error.code == .internalError, case .open(let own) = try await accountState(),
                    before.fingerprint == own.log.fingerprint, own.log.hash(at: before.head.number) == before.head.hash
                else { throw error }
                // The keys are read for this alone: nothing is opened or sealed with them.
                let then = OwnKeys(device: own.device, log: before, accountKeys: own.accountKeys)
                let keys = try await line.keyStore.update(account) { kept throws(CKError) in try kept.take(shown, at: place, of: then) }
                guard keys.manifest.device == device || keys.sender == device else { throw error }
                let signed = try shown.newest(signedIn: own.log)?.parts
                return try successor(
                    of: keys, by: own, own.participants(takingOver: keys.manifest.parts, signed: signed, logs: keys.logs))
            }
        }

        private func successor(
            of keys: ZoneKeys, by own: OwnKeys, _ participants: [ScopeManifest.Participant]
        ) throws(CKError) -> KeysScopesModifyRequest? {
            try own.nextManifest(
                after: keys, participants: participants, logs: keys.logs, mustRenew: true, stamp: line.timekeeper.stamp,
                using: line.timekeeper.keyRandom)
        }

        /// Returns the account's log as it was before a device was removed; nil if the device was not.
        func log(beforeRemovalOf device: DeviceID) async throws(CKError) -> KeyLog? {
            let shown = try await shownAccount()
            return try CKError.checking {
                let all = try shown.statements.map { try KeyStatement($0) }
                let begins = all.lastIndex { if case .begin = $0.action { true } else { false } }
                let statements = Array(all[(begins ?? 0)...])
                guard let removed = try KeyLog(statements).devices[device]?.removed else { return nil }
                return try KeyLog(Array(statements.prefix(Int(clamping: removed))))
            }
        }
    }
#endif
