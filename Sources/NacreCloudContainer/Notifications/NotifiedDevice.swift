package import NacreCloudWire

/// A device that is told what its user's subscriptions have to tell: a sign-in, or a part of one that names itself.
///
/// See `docs/decisions/a-device-is-a-sign-in.md`.
package struct NotifiedDevice: Hashable, Sendable {
    /// As `Caller.deviceID`: what it changes itself, it is not told.
    var deviceID: String
    /// A client's name for a part of the sign-in; empty: none.
    var clientID: String
    /// By which it is signed in. A device without it is told nothing more.
    package var credential: Credential
    /// Of the secret in its push token; nil: it has none.
    var tokenCode: [UInt8]?
    /// When the push token ends.
    var tokenExpires: Timestamp
    /// When it was last heard of, within a day.
    var seen: Timestamp
    var badge: Int64 = 0
    /// How many notifications were put into its queue, of all times: the number of the next is one above.
    var count: Int64 = 0
    /// How many wait in it. Where there are fewer, some were kept as long as any is.
    var waiting: Int64 = 0
    /// The databases that those tell of which were put there since it was empty.
    var scopes: Set<DatabaseKey.Scope> = []

    private static let version: UInt8 = 1

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
        } catch {
            throw StoreError(.corrupt, "A device is malformed")
        }
    }

    init(deviceID: String, clientID: String, credential: Credential, at now: Timestamp) {
        self.deviceID = deviceID
        self.clientID = clientID
        self.credential = credential
        tokenExpires = now
        seen = now
    }
}

/// Where a device's queue is.
package struct DeviceAddress: Hashable, Sendable {
    /// Of the user's devices.
    package var database: DatabaseID
    package var key: String
}

/// Who asks for a device's queue, and with what.
package struct DeviceOwner: Hashable, Sendable {
    package var container: String
    package var environment: DatabaseKey.Environment
    package var credential: Credential
}

extension Registry.Part {
    /// The devices of a user, and what they are told.
    static func devices(of place: AccountPlace) -> Registry.Part {
        .devices(container: place.container, place.environment, user: place.userRecordName)
    }
}

extension Cloud {
    /// The device that a caller asks from, which is told of changes from now on.
    /// - Parameter clientID: a part of the sign-in; nil: all of it.
    /// - Throws: `AUTHENTICATION_REQUIRED` for who is no user, `AUTHENTICATION_FAILED` for a server-to-server key.
    package func registerDevice(
        _ clientID: String?, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws -> DeviceAddress {
        try await registerDevice(clientID, in: container, environment, by: caller) { _ in }
    }

    /// `tokens/create`: a token under which notifications wait. The one that the device had before ends.
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

    /// `tokens/register`: the user's notifications go to the device of a token that `tokens/create` gave.
    package func registerPushToken(
        _ request: TokensRegisterRequest, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller
    ) async throws {
        let place = try subscriber(in: container, environment, caller)
        guard let deviceID = caller.deviceID, let credential = caller.credential else { throw ServerError.authenticationRequired }
        guard let token = PushToken(request.apnsToken) else { throw ServerError.pushTokenOfApple }
        let (key, code) = (token.address.key, PushToken.code(of: token.secret, tokens))
        try await registry.write(.devices(of: place)) { database, now, transaction in
            guard token.address.database == database,
                let row = try transaction.entries(in: database, .notifiedDevice, keys: [key]).living(at: now).first
            else { throw ServerError.noPushToken }
            var device = try NotifiedDevice(row)
            guard device.tokenCode == code, device.tokenExpires > now else { throw ServerError.noPushToken }
            // It belongs to who registers it, who may have signed in anew.
            (device.deviceID, device.credential, device.seen) = (deviceID, credential, now)
            try transaction.put([device.row(key, in: database)])
            return .commit(())
        }
    }

    private func registerDevice(
        _ clientID: String?, in container: String, _ environment: DatabaseKey.Environment, by caller: Caller,
        _ change: @escaping @Sendable (inout NotifiedDevice) -> Void
    ) async throws -> DeviceAddress {
        let place = try subscriber(in: container, environment, caller)
        guard let deviceID = caller.deviceID, let credential = caller.credential else { throw ServerError.authenticationRequired }
        let client = clientID ?? ""
        guard client.utf8.count <= Limits.clientIDCharacters else {
            throw ServerError.badValue(
                "clientId", "invalid client ID", remedy: "It has at most \(Limits.clientIDCharacters) characters; a UUID is good.")
        }
        var name = ByteWriter()
        name.string(deviceID)
        name.string(client)
        let key = HexText.encode(Array(tokens.code(for: name.bytes, key: []).prefix(16)))
        return try await registry.write(.devices(of: place)) { database, now, transaction in
            let rows = try transaction.allEntries(.notifiedDevice, in: database)
            var device =
                try rows.first { $0.key.key == key && $0.expires.map { $0 > now } ?? true }.map { try NotifiedDevice($0) }
                ?? NotifiedDevice(deviceID: deviceID, clientID: client, credential: credential, at: now)
            device.credential = credential
            device.seen = now
            change(&device)
            var plan = WritePlan()
            plan.entries = [device.row(key, in: database)]
            let others = try rows.filter { $0.key.key != key }.map { (key: $0.key.key, seen: try NotifiedDevice($0).seen) }
            let tooMany = max(0, others.count + 1 - Limits.notifiedDevicesPerUser)
            for other in others.sorted(by: { ($0.seen, $0.key) < ($1.seen, $1.key) }).prefix(tooMany) {
                try plan.forget(device: other.key, in: database, transaction)
            }
            try transaction.apply(plan)
            return .commit(DeviceAddress(database: database, key: key))
        }
    }

    private func subscriber(
        in container: String, _ environment: DatabaseKey.Environment, _ caller: Caller
    ) throws(ServerError) -> AccountPlace {
        switch caller.identity {
        case .world: throw caller.noUser
        case .serverKey: throw .keyHasNoDevice
        case .user(let user): return AccountPlace(container: container, environment: environment, userRecordName: user)
        }
    }

    /// The device of a push token, and whose it is.
    /// - Throws: `NOT_FOUND` where the token has ended, or none was.
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

    /// Takes away all that tells a user of changes in a place: devices with their queues, and subscriptions to the public database.
    func forgetSubscriptions(at place: AccountPlace) async throws {
        let key = DatabaseKey(container: place.container, environment: place.environment, scope: .public, owner: "")
        let database = try await databaseID(key)
        let user = place.userRecordName
        while try await stored(of: key, { try await self.store.write { .commit(try $0.removeSubscriptions(of: user, from: database)) } }) {}
        let devices = try await registry.databaseID(Registry.Part.devices(of: place).key)
        while try await stored({ try await self.store.write { .commit(try $0.removeDevice(from: devices)) } }) {}
    }
}

/// A push token: names a device, and proves that it is asked for by who was given it.
package struct PushToken: Hashable, Sendable {
    let address: DeviceAddress
    let secret: String

    init(address: DeviceAddress, secret: String) {
        self.address = address
        self.secret = secret
    }

    /// In hexadecimal digits, as Apple's are: the database, the device, and 256 random bits.
    package var text: String { HexText.encode(UInt64(bitPattern: address.database.rawValue)) + address.key + secret }

    /// nil for text that is none of ours.
    package init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 16 + 32 + 64, digits.allSatisfy({ Names.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }),
            let database = UInt64(String(decoding: digits[..<16], as: UTF8.self), radix: 16)
        else { return nil }
        address = DeviceAddress(
            database: DatabaseID(rawValue: Int64(bitPattern: database)), key: String(decoding: digits[16..<48], as: UTF8.self))
        secret = String(decoding: digits[48...], as: UTF8.self)
    }

    /// What is kept of the secret.
    static func code(of secret: String, _ tokens: any TokenSealing) -> [UInt8] {
        tokens.code(for: Array(secret.utf8), key: Array("push token".utf8))
    }
}

extension ServerError {
    fileprivate static let keyHasNoDevice = ServerError(
        .authenticationFailed, "Authentication failed", remedy: "A server-to-server key has no devices: ask as a user who is signed in.")

    fileprivate static let noPushToken = ServerError(
        .notFound, "there is no such push token", field: "apnsToken",
        remedy: "It has ended, its device was signed out, or another one took its place: ask tokens/create for one.")

    fileprivate static let pushTokenOfApple = ServerError(
        .badRequest, "push token is not of this server", native: .serverRejectedRequest, field: "apnsToken",
        remedy:
            "This version of the server sends nothing to Apple's push services: register a token that tokens/create gave, or follow the event stream."
    )
}
