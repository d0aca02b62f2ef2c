#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    extension Conversation {
        /// Returns the keys of a zone, or of a share of its records, for opening values; nil if there are none, or is
        /// in the public database. Costs no request if this process has opened them, otherwise one or two, and one for
        /// each other user who took part.
        ///
        /// - Parameter id: the ID of the scope in a record's manifest; nil: the zone's own keys are asked for.
        /// - Throws: `accountTemporarilyUnavailable`, with its remedy, if this device has no keys for the zone.
        func zoneKeys(of zone: CKRecordZone.ID, holding id: ScopeID? = nil) async throws(CKError) -> ZoneKeys? {
            guard let (exchange, place) = try await keyExchange(for: zone) else { return nil }
            return try await exchange.zoneKeys(at: place, holding: id)
        }

        /// Returns the keys of a zone for sealing values. Makes what is missing: this device's keys and the account's
        /// log on the account's first device, the zone's first key, and its next one after a device was removed. In
        /// another user's zone it makes the first two alone.
        ///
        /// - Throws: `accountTemporarilyUnavailable`, with its remedy, if the account has keys and this device none,
        ///   and in another user's zone until the owner has given this user its keys.
        /// - Parameter which: the zone's own keys, or those of a share of its records.
        func zoneKeysForSaving(in zone: CKRecordZone.ID, _ which: WhichScope = .zone) async throws(CKError) -> ZoneKeys {
            guard let (exchange, place) = try await keyExchange(for: zone) else { throw .noKeysHere }
            return try await exchange.keysForSaving(which, at: place)
        }

        /// Returns the keys of a zone for sealing files, and makes what is missing as `zoneKeysForSaving` does.
        ///
        /// - Parameters:
        ///   - which: the zone's own keys, or those of a share of its records.
        ///   - makingKeys: whether an account without keys gets them.
        /// - Returns: nil where files stay plain: for an account without keys, in another user's zone without them, by
        ///   somebody who is to have none there, and in one of the user's own that gets no scope for a file.
        func zoneKeysForFiles(in zone: CKRecordZone.ID, _ which: WhichScope = .zone, makingKeys: Bool) async throws(CKError) -> ZoneKeys? {
            guard let (exchange, place) = try await keyExchange(for: zone) else { return nil }
            if which != .zone { return try await exchange.keysForSaving(which, at: place) }
            return try await exchange.zoneKeysForFiles(at: place, makingKeys: makingKeys)
        }

        /// Returns nil for a zone that is neither the user's own in the private database, nor another user's in the
        /// shared one.
        func keyExchange(for zone: CKRecordZone.ID) async throws(CKError) -> (KeyExchange, Place)? {
            let wire = zone.wire
            guard scope != .public, let exchange = try await keyExchange() else { return nil }
            let own = exchange.account.name
            let owner = wire.ownerRecordName ?? own.user
            guard (scope == .private) == (owner == own.user) else { return nil }
            guard let name = AccountName(container: own.container, environment: own.environment, user: owner),
                let place = Place(owner: name, zone: wire.zoneName)
            else { throw .noKeysHere }
            return (exchange, place)
        }

        /// Returns the conversation about the keys of the user's own account; nil if no user is signed in.
        func keyExchange() async throws(CKError) -> KeyExchange? {
            guard let user = try await currentUser().recordName else { return nil }
            let settings = try line.settings()
            guard let name = AccountName(container: settings.container, environment: settings.environment.rawValue, user: user) else {
                throw .noKeysHere
            }
            return KeyExchange(asking: self, of: KeyAccount(server: settings.url.absoluteString, name: name))
        }
    }

    /// The conversation of a device with a server about the keys of one account.
    struct KeyExchange: Sendable {
        /// The most statements, and the most manifests of a scope, that are taken from a server.
        static let statementsMax = 10_000
        static let manifestsMax = 1_000
        /// The most users whom the manifests of a scope may name, each of whose logs is asked for.
        static let usersMax = 1_000
        /// Times that a request is made anew because other devices were quicker.
        static let triesMax = 4

        let account: KeyAccount
        let conversation: Conversation
        /// For the zones of others.
        let shared: Conversation
        var line: ServerLine { conversation.line }

        /// - Parameter conversation: its journal is left out. An answer about keys must be new, and holds for no later
        ///   process.
        init(asking conversation: Conversation, of account: KeyAccount) {
            self.account = account
            self.conversation = Conversation(line: conversation.line, scope: .private, patience: conversation.patience, group: conversation.group)
            shared = Conversation(line: conversation.line, scope: .shared, patience: conversation.patience, group: conversation.group)
        }

        func zoneKeys(at place: Place) async throws(CKError) -> ZoneKeys? {
            if let known = line.openedKeys.withLock({ $0.zone(place, of: account) }) { return known }
            return try await untilCurrent(KeptKeys.scopes(of: place, for: account.name)) { () throws(CKError) in
                guard let shown = try await scope(of: place) else {
                    try await checkHasNoKeys(place)
                    return nil
                }
                return try await open(shown, at: place).keys
            }
        }

        /// Checks that the server may show no keys of a zone. Keys are asked for records with manifests, which a zone
        /// without keys has if a reset has ended those that this device may have seen.
        private func checkHasNoKeys(_ place: Place) async throws(CKError) {
            let isOwn = place.owner == account.name
            let zone = isOwn ? place.zone : KeptKeys.name(ofShared: place)
            let scopes = KeptKeys.scopes(of: place, for: account.name)
            guard try await line.keyStore.keys(of: account)[keyPath: scopes][zone] != nil else { return }
            if isOwn {
                switch try await accountState() {
                case .ended: return
                case .closed(_, let wasRemoved): throw .deviceHasNoKeys(wasRemoved: wasRemoved)
                case .empty, .open: break
                }
                // A log that follows a reset has this device forget the scopes before it.
                guard try await line.keyStore.keys(of: account).scopes[zone] != nil else { return }
            }
            throw .keysRefused("The server shows no keys of zone '\(place.zone)', and this device has seen some")
        }

        /// Asks for the account again if that was long ago: another device may have removed one since, and that one has
        /// the keys.
        func renewAccount() async throws(CKError) {
            let now = line.timekeeper.now()
            guard line.openedKeys.withLock({ $0.mustAskAgain(about: account, at: now) }) else { return }
            _ = try await accountState()
            line.openedKeys.withLock { $0.forgetShared() }
        }

        func zoneKeysForSaving(at place: Place) async throws(CKError) -> ZoneKeys {
            try await renewAccount()
            guard place.owner == account.name else {
                guard let keys = try await zoneKeys(at: place) else { throw .noKeysOfZone }
                guard keys.mayWrite else { throw keys.mayBecomeWriter ? .noKeysOfShare : .signedForReading }
                return keys
            }
            if let (own, keys) = opened(place), !own.mustRenew(keys) { return keys }
            for _ in 0..<Self.triesMax {
                if let keys = try await settled(at: place) { return keys }
                let first = try await ownKeysForSaving().firstKey(at: place, stamp: line.timekeeper.stamp, using: line.timekeeper.keyRandom)
                try await send(first, at: place)
            }
            throw .keysAreBusy
        }

        /// The account's and the zone's keys, if this process has both.
        /// - Parameter share: the name of a share of records; nil: the zone's own keys.
        func opened(_ place: Place, share: String? = nil) -> (own: OwnKeys, keys: ZoneKeys)? {
            line.openedKeys.withLock { opened in
                opened.own(of: account).flatMap { own in opened.zone(place, share: share, of: account).map { (own, $0) } }
            }
        }

        /// Adds a manifest to a scope, unless another device or process is quicker.
        func send(_ request: KeysScopesModifyRequest, at place: Place) async throws(CKError) {
            let isDone = try await unlessConflict { () throws(CKError) in
                let _: KeysScopesModifyResponse = try await conversation.ask("keys/scopes/modify", request, .change)
            }
            // Another device may have been quicker with a statement of the account.
            if !isDone { line.openedKeys.withLock { $0.forget(place.zone) } }
        }

        /// Returns a scope with the verified logs of the other users whom its manifests name.
        func withLogs(_ shown: ShownScope) async throws(CKError) -> ShownScope {
            var shown = shown
            let users = try shown.users()
            guard users.count <= Self.usersMax else { throw .unexpectedAnswer }
            for user in users.sorted() where user != account.name.user && shown.accounts[user] == nil {
                shown.accounts[user] = try await logs(of: user, isNamed: false)
            }
            return shown
        }

        /// Verifies and opens a scope. Asks for the account if it does not open with what this process knows of it. A
        /// user who was invited to another user's zone gets an account at the first use.
        func open(_ shown: ShownScope, at place: Place) async throws(CKError) -> (keys: ZoneKeys, own: OwnKeys) {
            var shown = try await withLogs(shown)
            // A user who came by a link may have written before a manifest named them.
            shown.accounts.merge(line.openedKeys.withLock(\.writers)) { named, _ in named }
            if let own = line.openedKeys.withLock({ $0.own(of: account) }), let keys = try? await open(shown, at: place, with: own) {
                return (keys, own)
            }
            switch try await accountState() {
            case .open(let own): return (try await open(shown, at: place, with: own), own)
            case .closed(_, let wasRemoved): throw .deviceHasNoKeys(wasRemoved: wasRemoved)
            case .empty, .ended:
                guard place.owner != account.name else { throw .keysRefused("The server shows keys of a zone without a log of the account's keys") }
                if try await isInvited(to: place, shown) { _ = try await ownKeysForSaving() }
                throw .noKeysOfShare
            }
        }

        private func open(_ shown: ShownScope, at place: Place, with own: OwnKeys) async throws(CKError) -> ZoneKeys {
            let (keys, pass) = try await line.keyStore.update(account) { kept throws(CKError) in
                (try kept.take(shown, at: place, of: own), kept.passes[place.zone])
            }
            line.openedKeys.withLock { $0.keep(keys, of: account) }
            beginPass(with: keys, after: pass)
            return keys
        }

        // MARK: Participants

        /// Keeps what this device's app wishes for the share of a zone.
        /// - Throws: `internalError`, with both fingerprints, if the server shows another account of a user than
        ///   before, or if the wish cannot be kept. On a device without keys nothing stops the share.
        /// - Parameter zone: what `KeptKeys.name(ofShare:inZone:)` returns.
        func wish(_ wishes: [ShareWish], inZone zone: String) async throws(CKError) {
            let hasKeys = (try? await line.keyStore.keys(of: account))?.device != nil
            do throws(CKError) {
                try await line.keyStore.update(account) { kept throws(CKError) in kept.wish(wishes, inZone: zone, isPending: true) }
            } catch {
                if hasKeys { throw error }
                line.log("CloudKit: this device cannot keep who is to have the keys of the zone '\(zone)': \(error)")
            }
            line.openedKeys.withLock { $0.forget(KeptKeys.zone(in: zone)) }
            for wish in wishes where hasKeys && wish.signedPermission != .none {
                guard let user = wish.user else { continue }
                do throws(CKError) {
                    _ = try await logs(of: user)
                } catch {
                    // A server that cannot be asked is the share's own error, or asked again before a key is sealed.
                    guard error.code == .internalError else { continue }
                    try await takeBack(wishes, inZone: zone)
                    throw error
                }
            }
        }

        /// Notes that the server has saved the share with these wishes.
        func confirm(_ wishes: [ShareWish], inZone zone: String) async throws(CKError) {
            try await line.keyStore.update(account) { kept throws(CKError) in kept.wish(wishes, inZone: zone) }
            line.openedKeys.withLock { $0.forget(KeptKeys.zone(in: zone)) }
        }

        /// Takes wishes back whose share the server has not saved.
        func takeBack(_ wishes: [ShareWish], inZone zone: String) async throws(CKError) {
            try await line.keyStore.update(account) { kept throws(CKError) in kept.takeBack(wishes, inZone: zone) }
        }

        /// Returns the names of the user's own zones.
        func ownZones() async throws(CKError) -> [String] {
            try await conversation.listZones().zones.compactMap { if case .zone(let zone) = $0 { zone.zoneID.zoneName } else { nil } }
        }

        /// Brings the manifest of a zone of the user's own up to date with its share, if this device has keys and has
        /// seen the zone's or wishes something.
        /// - Parameters:
        ///   - list: the participants as the server has shown them; none if the share has ended. The answer may be
        ///     older than a save of the share: who takes part is asked for anew.
        ///   - share: the name of the record of a share of records; nil: the zone is shared as a whole.
        /// - Returns: the keys, with the secrets of their links; nil if this device or the zone has none.
        @discardableResult
        func meet(_ list: ShareList, at place: Place, share: String? = nil) async throws(CKError) -> ZoneKeys? {
            let kept = try await line.keyStore.keys(of: account)
            let isWished = kept.wishes[KeptKeys.name(ofShare: share, inZone: place.zone)] != nil
            let isKnown = share == nil ? kept.scopes[place.zone] != nil || list.hasLinks : kept.ownZones.contains(place.zone)
            guard kept.device != nil, isWished || isKnown else { return nil }
            if !isWished, let (own, keys) = opened(place, share: share), !keys.mayHaveVisitors(list),
                try request(after: keys, by: own, wishes: [], list: list, logs: keys.logs) == nil
            {
                tellWithoutKeys(list.participants, keys)
                return keys
            }
            guard let keys = try await settled(at: place, share.map(WhichScope.share) ?? .zone, askingForList: true) else { return nil }
            tellWithoutKeys(list.participants, keys)
            return keys
        }

        func forgetWishes(inZone zone: String) async throws(CKError) {
            let isOfZone = { (name: String) in KeptKeys.zone(in: name) == zone }
            guard try await line.keyStore.keys(of: account).wishes.keys.contains(where: isOfZone) else { return }
            try await line.keyStore.update(account) { kept throws(CKError) in
                kept.wishes = kept.wishes.filter { KeptKeys.zone(in: $0.key) != zone }
            }
        }

        /// Returns the keys of a zone of the user's own, or of a share of its records by the share's name, whose newest
        /// manifest says who takes part now.
        /// - Parameter askingForList: whether the server is asked for the share's participants also if nobody is
        ///   wished.
        /// - Returns: nil if the zone has no scope.
        func settled(at place: Place, _ which: WhichScope = .zone, askingForList: Bool = false) async throws(CKError) -> ZoneKeys? {
            for _ in 0..<Self.triesMax {
                guard let (keys, own) = try await currentScope(of: place, which) else { return nil }
                guard let request = try await nextManifest(after: keys, by: own, askingForList: askingForList) else { return keys }
                try await send(request, at: place)
            }
            throw .keysAreBusy
        }

        private func nextManifest(
            after keys: ZoneKeys, by own: OwnKeys, askingForList: Bool
        ) async throws(CKError) -> KeysScopesModifyRequest? {
            let zone = KeptKeys.name(ofShare: keys.share, inZone: keys.place.zone)
            var (list, logs, joined): (ShareList?, [String: KeyLog], [Joining]) = (nil, keys.logs, [])
            let lost = own.withoutKeys(in: keys.manifest.parts, logs: logs)
            var wishes = try await line.keyStore.update(account) { kept throws(CKError) in
                kept.wish(lost.filter { lost in !(kept.wishes[zone] ?? []).contains { $0.user == lost.user } }, inZone: zone)
                return kept.wishes[zone] ?? []
            }
            // The list of a share whose name is not known cannot be asked for.
            let isNamed = keys.share != nil || keys.manifest.parts.root.isEmpty
            if isNamed, askingForList || !wishes.isEmpty || !keys.joinings.isEmpty {
                let found = ShareList(try await share(of: ZoneID(zoneName: keys.place.zone), named: keys.share, in: conversation))
                list = found
                joined = await verifiedJoinings(keys, &logs)
                wishes = try await line.keyStore.update(account) { [wishes, joined, now = line.timekeeper.stamp] kept throws(CKError) in
                    kept.meet(found.participants, open: found.open, inZone: zone, asked: wishes, now: now)
                    kept.meet(joined, of: keys)
                    return kept.wishes[zone] ?? []
                }
                for user in Set(wishes.compactMap(\.user)) where logs[user] == nil && user != account.name.user {
                    logs[user] = try await self.logs(of: user).last
                }
                wishes += own.visits(joined, of: keys.manifest.parts, besides: wishes)
            }
            if keys.share == nil { line.openedKeys.withLock { $0.note(keys.place, isWaitedFor: !wishes.isEmpty) } }
            // The list takes a participant away once a removal is saved.
            wishes.removeAll { $0.isPending == true && $0.signedPermission == .none }
            let next = try request(after: keys, by: own, wishes: wishes, list: list, joined: joined, logs: logs)
            if let next { tellNamed(wishes, in: next, after: keys.manifest) }
            return next
        }

        private func request(
            after keys: ZoneKeys, by own: OwnKeys, wishes: [ShareWish], list: ShareList?, joined: [Joining] = [], logs: [String: KeyLog]
        ) throws(CKError) -> KeysScopesModifyRequest? {
            let (parts, links) = (keys.manifest.parts, keys.linkPlan(wishes, list))
            var participants = own.participants(after: parts, wishes: wishes, list: list?.participants, logs: logs)
            participants += own.leaving(joined, of: parts, besides: participants, links, logs: logs)
            return try own.nextManifest(
                after: keys, participants: participants, links: links, logs: logs, stamp: line.timekeeper.stamp,
                using: line.timekeeper.keyRandom)
        }

        /// Returns the verified logs of another user's account, the newest last; none if it has no keys.
        /// - Parameter isNamed: whether the app, or a verified manifest, has named the user. Only then a first look at
        ///   the account is kept.
        /// - Throws: an error with both fingerprints if the server shows another account than before.
        func logs(of user: String, isNamed: Bool = true) async throws(CKError) -> [KeyLog] {
            let own = account.name
            guard let name = AccountName(container: own.container, environment: own.environment, user: user) else { return [] }
            return try await untilCurrent(\.accounts[user]) { () throws(CKError) in
                let shown = try await shownAccount(of: user)
                return try await line.keyStore.update(account) { kept throws(CKError) in try kept.take(shown, ofOther: name, isNamed: isNamed) }
            }
        }

        // MARK: The account

        /// Whether the account has no keys, and never had any. It is asked for once a minute.
        func isAccountEmpty() async throws(CKError) -> Bool {
            let now = line.timekeeper.now()
            let (isOpen, isEmpty) = line.openedKeys.withLock { ($0.own(of: account) != nil, $0.isEmpty(account, at: now)) }
            if isOpen || isEmpty { return isEmpty }
            let kept = try await line.keyStore.keys(of: account)
            // Apps that encrypt nothing ask for this alone. It needs no folder that can be written, and no tree of
            // logs.
            if kept.own == nil, kept.device == nil, try await pages(of: nil, since: nil).0.statements.isEmpty {
                line.openedKeys.withLock { $0.noteEmpty(account, at: now) }
                return true
            }
            _ = try await accountState()
            return false
        }

        /// Returns the account as the server shows it now, verified.
        func accountState() async throws(CKError) -> AccountState {
            try await untilCurrent(\.own) { () throws(CKError) in try await accountState(try await shownAccount()) }
        }

        private func accountState(_ shown: ShownAccount) async throws(CKError) -> AccountState {
            let state = try await line.keyStore.update(account) { [name = account.name] kept throws(CKError) in try kept.take(shown, of: name) }
            switch state {
            case .open(let own):
                let now = line.timekeeper.now()
                if line.openedKeys.withLock({ $0.keep(own, of: account, at: now) }) { line.accountWatch.keysCame() }
            case .closed: line.openedKeys.withLock { $0.noteNone(of: account) }
            case .empty, .ended: break
            }
            return state
        }

        /// Returns the account's keys, and begins the account on its first device.
        func ownKeysForSaving() async throws(CKError) -> OwnKeys {
            for _ in 0..<Self.triesMax {
                switch try await accountState() {
                case .open(let own): return own
                case .closed(_, let wasRemoved): throw .deviceHasNoKeys(wasRemoved: wasRemoved)
                case .empty: try await begin(after: nil)
                case .ended(let log): try await begin(after: log)
                }
            }
            throw .keysAreBusy
        }

        /// Begins the account's log, unless another device or process is quicker. The keys are on the disk before the
        /// server has the statement: a device that the server knows is never lost.
        private func begin(after ended: KeyLog?) async throws(CKError) {
            let random = line.timekeeper.keyRandom
            let (device, recovery) = try await line.keyStore.update(account) { [name = account.name] kept throws(CKError) in
                try kept.toBegin(of: name, using: random)
            }
            let request = try OwnKeys.beginning(account.name, device: device, recovery: recovery, after: ended, using: random)
            guard try await append(request) else { return }
            line.log(
                "CloudKit: this device has made the keys of the user's encrypted values. 'nacre keys recovery' shows the 24 words "
                    + "that open them without it")
        }

        /// Adds a statement to the account's log.
        /// - Returns: whether it was added; false if another device or process was quicker.
        func append(_ request: KeysAppendRequest) async throws(CKError) -> Bool {
            try await unlessConflict { () throws(CKError) in
                let _: KeysAppendResponse = try await conversation.ask("keys/append", request, .change)
            }
        }

        /// Returns whether a change was made; false if another device or process was quicker.
        func unlessConflict(_ change: () async throws(CKError) -> Void) async throws(CKError) -> Bool {
            do throws(CKError) {
                try await change()
                return true
            } catch {
                guard error.code == .serverRecordChanged else { throw error }
                return false
            }
        }

        // MARK: Pages

        /// Returns an account as the server shows it, once its log is in a tree of logs that this device takes.
        /// - Parameter user: the name of a user's record; nil: the account's own.
        func shownAccount(of user: String? = nil) async throws(CKError) -> ShownAccount {
            for _ in 0..<Self.triesMax {
                let seen = try await line.keyStore.keys(of: account).tree
                let (shown, tree) = try await pages(of: user, since: seen)
                let verdict = try await line.keyStore.update(account) { [name = account.name] kept throws(CKError) in
                    kept.take(tree, of: shown.statements, in: name, since: seen)
                }
                switch verdict {
                case .taken: return shown
                case .askAgain: continue
                case .refused(let error): throw error
                }
            }
            throw .keysAreBusy
        }

        /// - Parameter seen: the tree of which the server is to prove that the tree of the last page extends it.
        func pages(of user: String?, since seen: SeenTree?) async throws(CKError) -> (ShownAccount, KeysLogResponse.Tree?) {
            var shown = ShownAccount()
            let size = seen.map { Int(clamping: $0.head.size) }
            while true {
                let request = KeysLogRequest(user: user, after: shown.statements.isEmpty ? nil : shown.statements.count - 1, treeSize: size)
                let page: KeysLogResponse
                do throws(CKError) {
                    page = try await conversation.ask(Conversation.logPath, request, .read)
                } catch {
                    guard error.userInfo[CKError.serverTextKey] as? String == ServerError.treeIsSmallerReason else { throw error }
                    throw .treeRefused("The server's tree of logs is smaller than the one that this device has seen")
                }
                shown.statements += page.statements
                guard shown.statements.count <= Self.statementsMax, !(page.moreComing && page.statements.isEmpty) else { throw .unexpectedAnswer }
                if page.moreComing { continue }
                (shown.wraps, shown.olderKeys) = (page.wraps ?? [], page.olderKeys ?? [])
                return (shown, page.tree)
            }
        }

        /// Returns a scope of a zone as the server shows it; nil if there is none.
        func scope(of place: Place, _ which: WhichScope = .zone) async throws(CKError) -> ShownScope? {
            let isOwn = place.owner == account.name
            let zoneID = ZoneID(zoneName: place.zone, ownerRecordName: isOwn ? nil : place.owner.user)
            let conversation = isOwn ? conversation : shared
            var shown = ShownScope(which: which)
            var before: Int?
            while true {
                let request = KeysScopesListRequest(zoneID: zoneID, before: before, share: which.share, scope: which.id?.bytes)
                let page: KeysScopesListResponse = try await conversation.ask("keys/scopes/list", request, .read)
                if before == nil {
                    (shown.wraps, shown.olderKeys) = (page.wraps ?? [], page.olderKeys ?? [])
                    (shown.links, shown.joinings) = (page.links ?? [], page.joinings ?? [])
                }
                shown.manifests += page.manifests
                guard shown.manifests.count <= Self.manifestsMax, !(page.moreComing && page.manifests.isEmpty) else { throw .unexpectedAnswer }
                guard page.moreComing, let oldest = page.manifests.last else { return shown.manifests.isEmpty ? nil : shown }
                before = try CKError.checking { Int(clamping: try ScopeManifest(oldest).parts.number) }
            }
        }
    }
#endif
