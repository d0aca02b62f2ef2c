package import NacreCloudWire

/// What kind of thing an entry is. Numbers are kept in databases: never reuse one.
package enum EntryKind: Int64, Hashable, Sendable, CaseIterable {
    case container = 1
    case apiToken = 2
    case account = 3
    case accountEmail = 4
    case session = 5
    case accountToken = 6
    case user = 7
    case sealingKey = 8
    /// Of a container's schema in one environment: its number of changes.
    case schemaVersion = 9
    /// A record type of a schema.
    case recordType = 10
    /// Of a caller's logged operations in a database: up to when some are trimmed.
    case operationHorizon = 11
    case serverKey = 12
    /// Of a schema's environment: the roles that a user has.
    case roleAssignment = 13
    /// Of a schema: a change by an administrator.
    case schemaChange = 14
    /// Of a schema's environment: how much its databases may hold.
    case quota = 15
    /// What an administrator asked the server to do.
    case audit = 16
    /// Of an account: a public key that signs it in.
    case passkey = 17
    /// Of an issuer's user: whose account it is.
    case openID = 18
    /// Of discovery in a container and environment: a user's answer, what others see of a user, whose an address is, and the key of its hashes.
    case discoverability = 20
    case discoverable = 21
    case contact = 22
    case contactKey = 23
    /// How much work a container and its users may have done.
    case rate = 24
    /// Requests of administrators that have idempotency keys, and their answers.
    case idempotencyKeys = 25
    case idempotentAnswer = 26
    /// Of a database: an asset, the bytes of a small one, and that an asset has a chunk.
    case asset = 30
    case assetBytes = 31
    case chunkUse = 32
    /// The key of the server under which chunks are named.
    case chunkKey = 33
    /// Of a database: a file that was announced and is on its way.
    case announcedUpload = 56
    /// Of a database: how much a user has sent into it that no record has.
    case unsavedFiles = 60
    /// Of a database: a user's subscription, by what changes it is found, and how many there are of each such kind.
    case subscription = 40
    case subscriptionTerm = 41
    case subscribed = 42
    /// Of a user in a container and environment: a device that is told of changes, and what it is told.
    case notifiedDevice = 43
    case notification = 44
    /// Of the server: by which Apple's push services know a container, and by which those of browsers know the server.
    case pushKey = 45
    case pushIdentity = 46
    /// Of a device that is told of changes: what became of its notifications.
    case pushLog = 47
    /// Of a database: that a zone is shared.
    case zoneShare = 48
    /// Of a database: which share a view of a zone is, and that a user has accepted a share of a record.
    case recordShare = 57
    case shareSeat = 58
    /// Of a container and environment: where the URL of a share leads.
    case shareLink = 49
    /// The key of the server by which the URLs of shares are made.
    case shareKey = 50
    /// Of an account: that it has asked for access to a share.
    case shareRequest = 59
    /// Changes the schema of one container over the admin API.
    case managementToken = 70
    /// Of a schema's environment: what a query wants of it.
    case recordedQuery = 71
}

package struct EntryKey: Hashable, Sendable {
    package var database: DatabaseID
    package var kind: EntryKind
    package var key: String

    package init(_ database: DatabaseID, _ kind: EntryKind, _ key: String) {
        self.database = database
        self.kind = kind
        self.key = key
    }
}

/// A small value under a key, for what is not records: containers, accounts, tokens.
package struct EntryRow: Hashable, Sendable {
    package var key: EntryKey
    package var value: [UInt8]
    package var expires: Timestamp?

    package init(key: EntryKey, value: [UInt8], expires: Timestamp? = nil) {
        self.key = key
        self.value = value
        self.expires = expires
    }
}
