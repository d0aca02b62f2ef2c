#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms

    // Both sides of an enrolment, over the server's mailbox: docs/encryption.md, "Enrolment".

    extension UserKeys {
        /// Seconds between two looks for a message of the other device.
        static let pollSeconds: Double = 2

        /// A new device that waits for the answer of an enrolled one.
        package struct Waiting: Encodable, Sendable {
            /// Eight hexadecimal digits, by which people tell devices apart that wait at once. They prove nothing.
            package let name: String
            let commitment: EnrolmentCommitment

            init(_ commitment: EnrolmentCommitment) {
                self.commitment = commitment
                name = String(commitment.hash.description.prefix(8))
            }

            private enum CodingKeys: CodingKey { case name }
        }

        /// Shows the code to the user, and returns what the user typed: the code that the other device shows. nil:
        /// nothing was typed.
        package typealias Comparing = @Sendable (_ code: String) async throws -> String?

        // MARK: The new device

        /// Enrols this device with the help of one that is enrolled. Takes ten minutes at most.
        /// - Parameters:
        ///   - waiting: is told the name under which the other device lists this one.
        ///   - compare: asks for the code.
        /// - Throws: `EnrolmentFault.otherCode` for another code, and nothing is kept; `EnrolmentFault.expired`.
        package func enrol(waiting: @Sendable (String) throws -> Void, compare: Comparing) async throws {
            switch try await exchange.accountState() {
            case .open: throw CKError.deviceHasKeys
            case .closed(let log, _) where !log.isReset: break
            case .empty, .ended, .closed: throw CKError.accountHasNoKeys
            }
            var random = random
            let device = try DeviceKeys(using: &random)
            var joining = try JoiningDevice(device, at: now, using: &random)
            let commitment = joining.commitment
            _ = try await exchange.post(commitment.bytes)
            try waiting(Waiting(commitment).name)
            let bytes = try await message(of: commitment) { $0.answer }
            guard let answer = try? EnrolmentAnswer(bytes) else { throw EnrolmentFault.unexpected }
            let (opening, code) = try joining.take(answer, at: now)
            guard try await exchange.post(opening.bytes) else { throw EnrolmentFault.unexpected }
            try joining.compare(typed: try await typed(code, compare), at: now)
            let shown = try await exchange.shownAccount()
            let isCompared = try await line.keyStore.update(exchange.account) { [account = exchange.account.name] kept throws(CKError) in
                try kept.join(device, shown, of: account, as: answer)
            }
            guard isCompared else { throw EnrolmentFault.notEnrolled }
            try joining.check(try await awaitEnrolment().log)
        }

        /// Enrols this device with the recovery key.
        /// - Parameter words: the 24 words. They tell the account: their key has signed its log.
        package func enrol(words: String) async throws {
            let secret = try Self.secret(words)
            var random = random
            let device = try DeviceKeys(using: &random)
            for _ in 0..<KeyExchange.triesMax {
                let shown = try await exchange.shownAccount()
                let request = try await line.keyStore.update(exchange.account) { [account = exchange.account.name, random] kept throws(CKError) in
                    try kept.join(device, shown, of: account, with: secret, using: random)
                }
                guard try await exchange.append(request) else { continue }
                forgetOpened()
                _ = try await own()
                return
            }
            throw CKError.keysAreBusy
        }

        // MARK: A device that is enrolled

        /// Returns the devices that wait for an answer, in the order in which they began.
        package func waiting() async throws(CKError) -> [Waiting] {
            _ = try await own()
            return try await exchange.enrolments().compactMap { $0.answer == nil ? (try? EnrolmentCommitment($0.commitment)).map(Waiting.init) : nil }
        }

        /// Adds a device that waits. The user has said that it is theirs: this is the approval of one commitment.
        /// - Parameter compare: asks for the code.
        /// - Returns: the ID of the device.
        /// - Throws: `EnrolmentFault.otherCode` for another code, and nothing is added; `EnrolmentFault.expired`.
        package func approve(_ device: Waiting, compare: Comparing) async throws -> String {
            let own = try await own()
            var random = random
            var admitting = AdmittingDevice(own.device, approvedAt: now)
            let answer = try admitting.answer(device.commitment, log: own.log, at: now, using: &random)
            guard try await exchange.post(answer.bytes) else {
                throw CKError.keysUnchanged("Another device has answered this one", remedy: "Go on there, or begin again with 'nacre keys enrol'")
            }
            let bytes = try await message(of: device.commitment) { $0.opening }
            guard let opening = try? EnrolmentOpening(bytes) else { throw EnrolmentFault.unexpected }
            let code = try admitting.take(opening, at: now)
            var log = own.log
            let statement = try admitting.add(typed: try await typed(code, compare), to: &log, at: now)
            let id = try DeviceID(of: opening.keys)
            guard try await exchange.append(try own.addition(statement, of: id, in: log, using: random)) else {
                throw CKError.keysUnchanged("Another device has changed the keys meanwhile", remedy: "Begin again with 'nacre keys enrol'")
            }
            forgetOpened()
            return "\(id)"
        }

        // MARK: Help

        /// Seconds of a clock that only rises.
        private var now: UInt64 { UInt64(max(0, line.timekeeper.now())) }

        private func typed(_ code: EnrolmentCode, _ compare: Comparing) async throws -> EnrolmentCode {
            guard let text = try await compare("\(code)"), let typed = EnrolmentCode(typed: text) else { throw EnrolmentFault.otherCode }
            return typed
        }

        /// Asks again and again until there is an answer.
        private func poll<Value>(_ look: () async throws -> Value?) async throws -> Value {
            let end = line.timekeeper.now() + Double(Enrolment.seconds)
            while line.timekeeper.now() < end {
                if let value = try await look() { return value }
                try await line.timekeeper.pause(Self.pollSeconds)
            }
            throw EnrolmentFault.expired
        }

        /// Waits for a message of the other device.
        private func message(
            of commitment: EnrolmentCommitment, _ part: (KeysEnrolmentListResponse.Conversation) -> [UInt8]?
        ) async throws -> [UInt8] {
            try await poll {
                guard let conversation = try await exchange.enrolments().first(where: { $0.commitment == commitment.bytes }) else {
                    throw EnrolmentFault.expired
                }
                return part(conversation)
            }
        }

        /// Waits until the account has this device.
        private func awaitEnrolment() async throws -> OwnKeys {
            try await poll {
                switch try await exchange.accountState() {
                case .open(let own): return own
                case .closed(let log, false) where !log.isReset: return nil
                case .empty, .ended, .closed: throw EnrolmentFault.notEnrolled
                }
            }
        }
    }

    extension KeyExchange {
        /// Leaves a message for the account's other devices.
        /// - Returns: whether the server has it; false if the conversation has another message in its place.
        func post(_ message: [UInt8]) async throws(CKError) -> Bool {
            try await unlessConflict { () throws(CKError) in
                let request = KeysEnrolmentPostRequest(message: message)
                let _: KeysEnrolmentPostResponse = try await conversation.ask("keys/enrolment/post", request, .change)
            }
        }

        /// Returns the messages of the account's devices, by conversation.
        func enrolments() async throws(CKError) -> [KeysEnrolmentListResponse.Conversation] {
            let page: KeysEnrolmentListResponse = try await conversation.ask("keys/enrolment/list", KeysEnrolmentListRequest(), .read)
            return page.conversations
        }
    }
#endif
