import NacreCloudWire
import NacreLocks

#if canImport(NacreCrypto)
    import NacreCrypto
#endif

/// The lookups of a discovery, and the app's lookup infos that each of them answers.
struct DiscoveryPlan {
    /// The lookups, each once.
    private(set) var order: [UserLookupInfo] = []
    private(set) var infos: [UserLookupInfo: [CKUserIdentity.LookupInfo]] = [:]

    mutating func ask(_ wire: UserLookupInfo, for info: CKUserIdentity.LookupInfo) {
        if infos[wire] == nil { order.append(wire) }
        infos[wire, default: []].append(info)
    }
}

extension Conversation {
    /// Makes the lookups of a discovery. E-mail addresses and phone numbers are hashed here and leave the app only in
    /// that form; see `docs/decisions/users-discovery.md`. A number without its country code is skipped,
    /// because it belongs to no user.
    func discoveryPlan(for asked: [CKUserIdentity.LookupInfo]) async throws(CKError) -> DiscoveryPlan {
        var plan = DiscoveryPlan()
        var seen: Set<CKUserIdentity.LookupInfo> = []
        let infos = asked.filter { seen.insert($0).inserted }
        let key = infos.contains { $0.contactMessage != nil } ? try await contactKey() : []
        for info in infos {
            if let message = info.contactMessage {
                plan.ask(.contactHash(try Self.hash(of: message, under: key)), for: info)
            } else if let id = info.userRecordID {
                let isCurrent = id.recordName == CKCurrentUserDefaultName
                plan.ask(.userRecordName(isCurrent ? try await currentUser().recordName ?? id.recordName : id.recordName), for: info)
            }
        }
        return plan
    }

    private static func hash(of message: [UInt8], under key: [UInt8]) throws(CKError) -> String {
        #if canImport(NacreCrypto)
            return HashedAddress.text(of: HMACSHA256.code(for: message, key: key))
        #else
            throw .cannotHash
        #endif
    }

    /// Finds users who allow it.
    /// - Parameter found: called once for each lookup info that found a user.
    func discover(
        _ infos: [CKUserIdentity.LookupInfo], found: (CKUserIdentity, CKUserIdentity.LookupInfo) -> Void
    ) async throws(CKError) {
        let plan = try await discoveryPlan(for: infos)
        var rest = plan.order[...]
        while !rest.isEmpty {
            let asked = rest.prefix(Limits.itemsPerNativeRequest)
            rest = rest.dropFirst(asked.count)
            for user in try await discover(UsersDiscoverRequest(lookupInfos: Array(asked))).users {
                guard let info = user.lookupInfo, let infos = plan.infos[info] else { throw .unexpectedAnswer }
                for info in infos { found(CKUserIdentity(wire: user, lookupInfo: info), info) }
            }
        }
    }

    func discover(_ request: UsersDiscoverRequest) async throws(CKError) -> UsersDiscoverResponse {
        try await ask("users/discover", request, .read)
    }

    func discoverContacts() async throws(CKError) -> UsersDiscoverResponse {
        try Self.read(await send("users/discover", .get, [], .read))
    }

    func permission() async throws(CKError) -> Discoverability {
        let answer: UsersPermissionResponse = try Self.read(await send("users/permission", .get, [], .read))
        return answer.userDiscoverability
    }

    /// Saves the user's answer. Saving it again changes nothing, so the request can be repeated when an answer is lost.
    func answerPermission(_ answer: Discoverability) async throws(CKError) -> Discoverability {
        let settled: UsersPermissionResponse = try await ask(
            "users/permission", UsersPermissionRequest(userDiscoverability: answer), .read)
        return settled.userDiscoverability
    }

    /// Fetches a web auth token. A repeated request gets a token of the same session, so it can be repeated when an
    /// answer is lost.
    func webAuthToken(_ request: WebAuthTokenRequest) async throws(CKError) -> WebAuthTokenResponse {
        try await ask("users/web-auth-token", request, .read)
    }

    /// Returns the key of address hashes. It costs a request the first time, and again when the line changes its server
    /// or account.
    private func contactKey() async throws(CKError) -> [UInt8] {
        let settings = try line.settings()
        if let known = line.contactKey.withLock({ $0 }), known.settings == settings { return known.bytes }
        let answer: UsersContactKeyResponse = try Self.read(await send("users/contact-key", .get, [], .read))
        line.contactKey.withLock { $0 = ServerLine.ContactKey(settings: settings, bytes: answer.contactKey) }
        return answer.contactKey
    }
}

extension CKUserIdentity.LookupInfo {
    /// The bytes to hash for an address or a number; nil for an ID, and for a number without a country code.
    fileprivate var contactMessage: [UInt8]? {
        if let emailAddress { return HashedAddress.message(emailAddress: emailAddress) }
        return phoneNumber.flatMap(PhoneNumber.normalised).map(HashedAddress.message(phoneNumber:))
    }
}
