#if canImport(NacreEncryption)
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    // The framework begins the passes of SealingAnew.swift by itself, after a key was raised and at the next start. The
    // scope's manifest alone says that one is due: its oldest version is below the newest.

    /// The passes that a process begins by itself, one zone after another.
    struct BackgroundPasses: Sendable {
        private var begun: Set<KeyID> = []
        private var waiting: [Place] = []
        private var isEnded = false
        /// Runs the passes; nil while there is none.
        private(set) var task: Task<Void, Never>?

        /// Adds a zone's pass, once for each version of its key.
        /// - Parameter run: takes the zones until there is none.
        mutating func add(_ keys: ZoneKeys, _ run: @escaping @Sendable () async -> Void) {
            guard !isEnded, begun.count < OpenedKeys.zonesMax, begun.insert(keys.newest.id).inserted else { return }
            waiting.append(keys.place)
            if task == nil { task = Task(priority: .background, operation: run) }
        }

        /// Takes the next zone; nil: there is none, and the task ends.
        mutating func next() -> Place? {
            guard !waiting.isEmpty else {
                task = nil
                return nil
            }
            return waiting.removeFirst()
        }

        /// Begins no pass any more: the user has begun one.
        mutating func end() { (isEnded, waiting) = (true, []) }
    }

    extension KeptKeys {
        /// The state of a zone's pass that processes of this device have begun by themselves.
        package struct Pass: Codable, Hashable, Sendable {
            /// The name of the key under which it seals.
            let key: String
            /// The token of the last page that is done.
            let token: String?
            /// The records that could not be sealed anew.
            let left: Int
            /// Whether all pages are done.
            let isOver: Bool
            /// The change tags of records whose files were sealed anew, and which a later page shows again.
            let tags: Set<String>
        }

        static let passesMax = 20
        /// The most bytes of a token.
        static let passTokenMax = 1_024

        /// Keeps the state of a zone's pass. Where there is no room, the next process begins with the first page.
        mutating func keep(_ pass: Pass, ofZone zone: String) {
            guard passes[zone] != nil || passes.count < Self.passesMax, pass.token?.utf8.count ?? 0 <= Self.passTokenMax else { return }
            passes[zone] = pass
        }
    }

    extension KeyAccount {
        /// The name of the lock that a process has while it does passes.
        var passLockName: String { fileName + ".pass.lock" }
    }

    extension ZoneKeys {
        /// Whether the framework begins a pass by itself: in a zone of the user's own with older versions of its key,
        /// and for no share of its records, unless one has left records that cannot be sealed anew. Late in a scope the
        /// manifests that are left are for taking participants away.
        func wantsPass(after kept: KeptKeys.Pass?) -> Bool {
            guard isOwn, manifest.parts.root.isEmpty, manifest.parts.oldest < newest.id.version, manifest.parts.number < OwnKeys.manifestsForOthers
            else { return false }
            return kept.map { $0.key != newest.id.text || !$0.isOver || $0.left == 0 } ?? true
        }
    }

    extension KeyExchange {
        /// Seconds before a pass, in which the app's own requests come first.
        static let passDelay = 10.0
        /// The pace of passes in the background. A process leaves the rest to the next one after a good half hour, or
        /// 256 MiB of files.
        static let backgroundPace = PassPace(
            pageRecords: 50, seconds: 1, pagesMax: 2_000, fileBytesMax: 256 << 20, filesMax: 5_000, isKept: true)

        /// Begins a zone's pass in the background, if it needs one.
        func beginPass(with keys: ZoneKeys, after kept: KeptKeys.Pass?) {
            guard line.sealsAnew, keys.wantsPass(after: kept), let settings = try? line.settings() else { return }
            line.passes.withLock { $0.add(keys) { await runPasses(with: settings) } }
        }

        /// Runs the passes that are due. They end with the sign-in of their user.
        private func runPasses(with settings: ServerSettings) async {
            var pace = Self.backgroundPace
            pace.goesOn = { [line] in (try? line.settings()) == settings }
            while let place = line.passes.withLock({ $0.next() }) {
                do throws(CKError) {
                    try await line.timekeeper.wait(Self.passDelay)
                    // Another process of the device may have begun one.
                    guard pace.goesOn(), let unlock = try await line.keyStore.lockIfFree(account.passLockName) else { continue }
                    defer { unlock() }
                    let outcome = try await sealAnew(place, at: pace)
                    guard outcome.left > 0 else { continue }
                    let elsewhere = outcome.elsewhere > 0 ? "\(outcome.elsewhere) are in another place than they are sealed for, others" : "they"
                    line.log(
                        "CloudKit: \(outcome.left) records of the zone '\(place.zone)' could not be sealed anew, and older keys open them still: "
                            + "\(elsewhere) do not verify. 'nacre keys reseal' tries again")
                } catch {
                    if error.code == .changeTokenExpired { await forgetPass(ofZone: place.zone) }
                    line.log("CloudKit: values of the zone '\(place.zone)' are not all sealed anew yet, and the next process goes on: \(error)")
                }
            }
        }

        private func forgetPass(ofZone zone: String) async {
            try? await line.keyStore.update(account) { kept throws(CKError) in kept.passes[zone] = nil }
        }
    }
#endif
