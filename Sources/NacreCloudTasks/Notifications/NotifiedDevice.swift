package import NacreCloudAccounts
package import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudWire

/// A device that gets the notifications of its user's subscriptions: a sign-in, or a part of one that names itself.
///
/// See `docs/decisions/notifications-devices.md`.
package struct NotifiedDevice: Hashable, Sendable {
    /// The ID that `Caller.deviceID` has. A device is not notified of its own changes.
    var deviceID: String
    /// A client's name for a part of the sign-in; empty: none.
    var clientID: String
    /// The credential of its sign-in. A device whose credential has ended is not notified any more.
    package var credential: Credential
    /// The code of the secret in its push token; nil: it has none.
    var tokenCode: [UInt8]?
    /// The time when the push token ends.
    var tokenExpires: Timestamp
    /// The time when it was last heard of, within a day.
    var seen: Timestamp
    var badge: Int64 = 0
    /// The number of the last notification that was put into its queue. The next one has the number above.
    var count: Int64 = 0
    /// The run of the store in which the last number was given. `passedOver` has numbers of no notification: in the run
    /// before, the device may have got one of them with a notification that a power cut took back.
    var run: Int64 = 0
    var passedOver: Range<Int64> = 0..<0
    /// The number of notifications that wait. If fewer are found, the others have expired.
    var waiting: Int64 = 0
    /// The databases of the notifications that were put into the queue since it was empty.
    var scopes: Set<DatabaseKey.Scope> = []
    /// The databases for which an undelivered notification to fetch everything waits. Further notifications for these
    /// take no row: the device fetches their changes with the rest. It is in the store, so that it holds for several
    /// servers.
    var absorbing: Set<DatabaseKey.Scope> = []
    /// The number of rows that its push log has had.
    var logged: Int64 = 0
    /// The address of its push service, registered at `addressSince`; nil: the device asks by itself.
    var address: PushAddress?
    var addressSince = Timestamp(secondsSince2001: 0)

    private static let version: UInt8 = 4
    /// On this server: numbers passed over in a new run. More than are put into a queue before something is synced.
    private static let numbersPassedOver: Int64 = 1_000_000

    var isReached: Bool { address != nil }

    /// Passes over the numbers that an earlier run of the store may have given and lost.
    mutating func enter(_ run: Int64?) {
        guard let run, run != self.run else { return }
        passedOver = count + 1..<count + 1 + Self.numbersPassedOver
        count += Self.numbersPassedOver
        self.run = run
    }

    func row(_ key: String, in database: DatabaseID) -> EntryRow {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.string(deviceID)
        writer.string(clientID)
        writer.write(credential)
        writer.block(tokenCode ?? [])
        writer.double(tokenExpires.secondsSince2001)
        writer.double(seen.secondsSince2001)
        writer.signed(badge)
        writer.signed(count)
        writer.signed(waiting)
        writer.number(UInt64(scopes.count))
        for scope in scopes.map(\.rawValue).sorted() { writer.string(scope) }
        writer.signed(logged)
        writer.byte(address == nil ? 0 : 1)
        if let address {
            writer.write(address)
            writer.double(addressSince.secondsSince2001)
        }
        writer.signed(run)
        writer.signed(passedOver.lowerBound)
        writer.signed(passedOver.upperBound)
        writer.number(UInt64(absorbing.count))
        for scope in absorbing.map(\.rawValue).sorted() { writer.string(scope) }
        return EntryRow(
            key: EntryKey(database, .notifiedDevice, key), value: writer.bytes, expires: seen + Limits.notifiedDeviceSeconds)
    }

    init(_ row: EntryRow) throws(StoreError) {
        do {
            var reader = ByteReader(row.value)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            deviceID = try reader.string()
            clientID = try reader.string()
            credential = try reader.credential()
            let code = try reader.block()
            tokenCode = code.isEmpty ? nil : code
            tokenExpires = Timestamp(secondsSince2001: try reader.double())
            seen = Timestamp(secondsSince2001: try reader.double())
            badge = try reader.signed()
            count = try reader.signed()
            waiting = try reader.signed()
            for _ in 0..<(try reader.count()) {
                if let scope = DatabaseKey.Scope(rawValue: try reader.string()) { scopes.insert(scope) }
            }
            logged = try reader.signed()
            if try reader.byte() == 1 {
                address = try reader.pushAddress()
                addressSince = Timestamp(secondsSince2001: try reader.double())
            }
            run = try reader.signed()
            let first = try reader.signed()
            passedOver = first..<max(first, try reader.signed())
            for _ in 0..<(try reader.count()) {
                if let scope = DatabaseKey.Scope(rawValue: try reader.string()) { absorbing.insert(scope) }
            }
        } catch {
            throw StoreError(.corrupt, "A device is malformed")
        }
    }

    /// - Parameter run: the present run of the store.
    init(deviceID: String, clientID: String, credential: Credential, in run: Int64, at now: Timestamp) {
        self.run = run
        self.deviceID = deviceID
        self.clientID = clientID
        self.credential = credential
        tokenExpires = now
        seen = now
    }
}

/// The container and environment of a device, and the credential of its sign-in.
package struct DeviceOwner: Hashable, Sendable {
    package var container: String
    package var environment: DatabaseKey.Environment
    package var credential: Credential
}

extension Registry.Part {
    /// Returns the registry's part with the devices of a user and their queues.
    static func devices(of appUser: AppUser) -> Registry.Part {
        .devices(container: appUser.container, appUser.environment, user: appUser.userRecordName)
    }
}

extension Cloud {
    /// Registers the device from which a caller asks. It is notified of changes from now on.
    /// - Parameter clientID: a part of the sign-in; nil: all of it.
    /// - Throws: `AUTHENTICATION_REQUIRED` without a user, `AUTHENTICATION_FAILED` for a server-to-server key.
    package func registerDevice(
        _ clientID: String?, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws -> DeviceAddress {
        try await registerDevice(clientID, in: container, environment, by: caller) { _ in }
    }

    /// `tokens/create`: a token under which notifications wait. The token that the device had before ends.
    package func createPushToken(
        _ request: TokensCreateRequest, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws -> PushToken {
        let secret = registry.hex(4)
        let code = PushToken.code(of: secret, tokens)
        let expires = clock() + Limits.pushTokenSeconds
        let address = try await registerDevice(request.clientID, in: container, environment, by: caller) { device in
            (device.tokenCode, device.tokenExpires) = (code, expires)
        }
        return PushToken(address: address, secret: secret)
    }

    /// `tokens/register`: the user's notifications go to the device of a token of `tokens/create`, or of Apple's.
    package func registerPushToken(
        _ request: TokensRegisterRequest, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws {
        let appUser = try subscriber(in: container, environment, caller)
        guard let deviceID = caller.deviceID, let credential = caller.credential else { throw ServerError.authenticationRequired }
        guard let token = PushToken(request.apnsToken) else { return try await registerAppleDevice(request, in: container, environment, by: caller) }
        let (key, code) = (token.address.key, PushToken.code(of: token.secret, tokens))
        try await registry.write(.devices(of: appUser)) { database, now, transaction in
            guard token.address.database == database,
                let row = try transaction.entries(in: database, .notifiedDevice, keys: [key]).living(at: now).first
            else { throw ServerError.noPushToken }
            var device = try NotifiedDevice(row)
            guard device.tokenCode == code, device.tokenExpires > now else { throw ServerError.noPushToken }
            // The device goes to the sign-in that registers it, which may be a new one.
            (device.deviceID, device.credential, device.seen) = (deviceID, credential, now)
            try transaction.put([device.row(key, in: database)])
            return .commit(())
        }
    }

    /// The length of an Apple device's token, which is not fixed: today it has 64 hexadecimal digits.
    private static let appleTokenDigits = 64...200

    /// `tokens/register` with an Apple token: needs an administrator's key for Apple's push services.
    private func registerAppleDevice(
        _ request: TokensRegisterRequest, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws {
        let token = request.apnsToken.lowercased()
        guard Self.appleTokenDigits.contains(token.utf8.count), HexText.decode(token) != nil else { throw ServerError.noSuchTokenForm }
        guard try await registry.pushKey(of: container, request.apnsEnvironment) != nil else {
            throw ServerError.noPushKey(container, request.apnsEnvironment)
        }
        try await register(.apple(token: token, request.apnsEnvironment), of: request.clientID, in: container, environment, by: caller)
    }

    /// `tokens/web-push`: the key that pages give to `pushManager.subscribe`.
    /// - Throws: `NOT_FOUND` where the server sends nothing to browsers; and as `registerDevice`.
    package func applicationServerKey(
        in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws -> String {
        _ = try subscriber(in: container, environment, caller)
        guard let pushes = senders.pushes else { throw ServerError.noPushService }
        return try await pushes.applicationServerKey()
    }

    /// `tokens/web-push`: the browser is notified by its push service from now on; nil: it asks by itself again.
    /// - Throws: what is wrong with its address; `NOT_FOUND` where the server sends nothing to browsers.
    package func registerBrowser(
        _ browser: WebPushAddress?, of clientID: String?, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws {
        guard let pushes = senders.pushes else { throw ServerError.noPushService }
        if let fault = browser.flatMap(pushes.fault(of:)) { throw fault }
        try await register(browser.map { .browser($0) }, of: clientID, in: container, environment, by: caller)
    }

    /// Sets the address to which a device's notifications are sent from now on; nil: the device asks by itself.
    private func register(
        _ address: PushAddress?, of clientID: String?, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws {
        let now = clock()
        _ = try await registerDevice(clientID, in: container, environment, by: caller) { device in
            if device.address != address { (device.address, device.addressSince) = (address, now) }
        }
    }

    private func registerDevice(
        _ clientID: String?, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller,
        _ change: @escaping @Sendable (inout NotifiedDevice) -> Void
    ) async throws -> DeviceAddress {
        let appUser = try subscriber(in: container, environment, caller)
        guard let deviceID = caller.deviceID, let credential = caller.credential else { throw ServerError.authenticationRequired }
        let client = clientID ?? ""
        guard client.utf8.count <= Limits.clientIDCharacters else {
            throw ServerError.badValue(
                "clientId", "invalid client ID", remedy: "It has at most \(Limits.clientIDCharacters) characters; a UUID is good.")
        }
        let key = deviceKey(deviceID, client)
        return try await registry.write(.devices(of: appUser)) { database, now, transaction in
            let rows = try transaction.allEntries(.notifiedDevice, in: database)
            var device =
                try rows.first { $0.key.key == key && $0.isLiving(at: now) }.map { try NotifiedDevice($0) }
                ?? NotifiedDevice(deviceID: deviceID, clientID: client, credential: credential, in: try transaction.lock(in: database).run, at: now)
            device.credential = credential
            device.seen = now
            let known = device.address
            change(&device)
            var plan = WritePlan()
            plan.entries = [device.row(key, in: database)]
            if device.isReached, device.waiting > 0 {
                if device.address != known {
                    plan.tasks = [DeliverNotifications.task(for: key, in: database, due: now)]
                } else {
                    // The device asks by itself in a moment, so the delivery waits.
                    try transaction.leaveDelivery(to: key, &plan, in: database, due: now + Limits.pushGraceSeconds)
                }
            }
            let others = try rows.filter { $0.key.key != key }.map { (key: $0.key.key, device: try NotifiedDevice($0)) }
                .sorted { ($0.device.seen, $0.key) < ($1.device.seen, $1.key) }
            let tooMany = max(0, others.count + 1 - Limits.notifiedDevicesPerUser)
            for other in others.prefix(tooMany) { try plan.forget(device: other.key, in: database, transaction) }
            // An address belongs to one device: a device of an earlier sign-in loses it.
            for var other in others.dropFirst(tooMany) where device.isReached && other.device.address == device.address {
                other.device.address = nil
                plan.entries.append(other.device.row(other.key, in: database))
            }
            try transaction.apply(plan)
            return .commit(DeviceAddress(database: database, key: key))
        }
    }

    private func deviceKey(_ deviceID: String, _ clientID: String) -> String {
        var name = ByteWriter()
        name.string(deviceID)
        name.string(clientID)
        return HexText.encode(Array(tokens.code(for: name.bytes, key: []).prefix(16)))
    }

    /// Returns the address of the caller's device, which need not be there.
    func deviceAddress(
        _ clientID: String?, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws -> DeviceAddress {
        let appUser = try subscriber(in: container, environment, caller)
        guard let deviceID = caller.deviceID else { throw ServerError.authenticationRequired }
        let database = try await registry.databaseID(Registry.Part.devices(of: appUser).key)
        return DeviceAddress(database: database, key: deviceKey(deviceID, clientID ?? ""))
    }

    private func subscriber(
        in container: String, _ environment: DatabaseKey.Environment, _ caller: Caller
    ) throws(ServerError) -> AppUser {
        if let fault = devicesVerdict(by: caller) { throw fault }
        guard let user = caller.userRecordName else { throw caller.noUser }
        return AppUser(container: container, environment: environment, userRecordName: user)
    }

    /// Returns the device of a push token, and its owner.
    /// - Throws: `NOT_FOUND` where the token has ended, or never was.
    package func device(of token: PushToken?) async throws -> (address: DeviceAddress, owner: DeviceOwner) {
        guard let token else { throw ServerError.noPushToken }
        let (address, now, code) = (token.address, clock(), PushToken.code(of: token.secret, tokens))
        let found = try await stored {
            try await self.store.read { transaction -> (DatabaseKey, NotifiedDevice)? in
                guard let row = try transaction.entries(in: address.database, .notifiedDevice, keys: [address.key]).first,
                    let key = try transaction.databases([address.database]).first?.key
                else { return nil }
                let device = try NotifiedDevice(row)
                return device.tokenCode == code && device.tokenExpires > now ? (key, device) : nil
            }
        }
        guard let (key, device) = found else { throw ServerError.noPushToken }
        return (address, DeviceOwner(container: key.container, environment: key.environment, credential: device.credential))
    }

    /// Removes a user's devices and queues, and subscriptions to the public database, in a container and environment.
    func forgetSubscriptions(at appUser: AppUser) async throws {
        let key = DatabaseKey(container: appUser.container, environment: appUser.environment, scope: .public, owner: "")
        let database = try await databaseID(key)
        let user = appUser.userRecordName
        while try await stored(of: key, { try await self.store.write { .commit(try $0.removeSubscriptions(of: user, from: database)) } }) {}
        let devices = try await registry.databaseID(Registry.Part.devices(of: appUser).key)
        while try await stored({ try await self.store.write { .commit(try $0.removeDevice(from: devices)) } }) {}
    }
}

/// A push token. It names a device, and proves that its holder was given it.
package struct PushToken: Hashable, Sendable {
    let address: DeviceAddress
    let secret: String

    init(address: DeviceAddress, secret: String) {
        self.address = address
        self.secret = secret
    }

    /// The token in hexadecimal digits, as Apple's are: the database, the device, and 256 random bits.
    package var text: String { HexText.encode(UInt64(bitPattern: address.database.rawValue)) + address.key + secret }

    /// Reads a token; nil for text that is no token of this server.
    package init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 16 + 32 + 64, digits.allSatisfy({ Names.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }),
            let database = UInt64(String(decoding: digits[..<16], as: UTF8.self), radix: 16)
        else { return nil }
        address = DeviceAddress(
            database: DatabaseID(rawValue: Int64(bitPattern: database)), key: String(decoding: digits[16..<48], as: UTF8.self))
        secret = String(decoding: digits[48...], as: UTF8.self)
    }

    /// Returns the code that is kept of the secret.
    static func code(of secret: String, _ tokens: any TokenSealing) -> [UInt8] {
        tokens.code(for: Array(secret.utf8), key: Array("push token".utf8))
    }
}

/// Checks that a caller may have devices, which are told of changes; nil: yes.
package func devicesVerdict(by caller: Caller) -> ServerError? {
    switch caller.identity {
    case .world: caller.noUser
    case .serverKey: .keyHasNoDevice
    case .user: nil
    }
}

extension ServerError {
    fileprivate static let keyHasNoDevice = ServerError(
        .authenticationFailed, "Authentication failed", remedy: "A server-to-server key has no devices: ask as a user who is signed in.")

    fileprivate static let noPushToken = ServerError(
        .notFound, "there is no such push token", field: "apnsToken",
        remedy: "It has ended, its device was signed out, or another one took its place: ask tokens/create for one.")

    fileprivate static let noPushService = ServerError(
        .notFound, "the server sends nothing to browsers", remedy: "Follow the event stream, or poll a token of tokens/create.")

    fileprivate static let noSuchTokenForm = ServerError(
        .badRequest, "invalid push token", native: .serverRejectedRequest, field: "apnsToken",
        remedy: "Register a token that tokens/create gave, or that of an Apple device: 64 hexadecimal digits and more.")

    fileprivate static func noPushKey(_ container: String, _ environment: APNsEnvironment) -> ServerError {
        ServerError(
            .badRequest, "push token is not of this server", native: .serverRejectedRequest, field: "apnsToken",
            remedy: "The server has no key for Apple's push services: nacre push apns set --container \(container) "
                + "--environment \(environment.rawValue). Or register a token that tokens/create gave, or follow the event stream.")
    }
}
