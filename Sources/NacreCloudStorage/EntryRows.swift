package import NacreCloudWire

/// The kinds of entries. Numbers are kept in databases: never reuse one.
package enum EntryKind: Int64, Hashable, Sendable, CaseIterable {
    case container = 1
    case apiToken = 2
    case account = 3
    case accountEmail = 4
    case session = 5
    case accountToken = 6
    case user = 7
    case sealingKey = 8
    /// The number of changes of a container's schema in one environment.
    case schemaVersion = 9
    /// A record type of a schema.
    case recordType = 10
    /// The time up to which logged operations of a caller in a database are trimmed.
    case operationHorizon = 11
    case serverKey = 12
    /// The roles of a user in a schema's environment.
    case roleAssignment = 13
    /// A change of a schema by an administrator.
    case schemaChange = 14
    /// The most bytes that the databases of a schema's environment may hold.
    case quota = 15
    /// A request of an administrator to the server.
    case audit = 16
    /// A public key that signs an account in.
    case passkey = 17
    /// The account of an OpenID issuer's user.
    case openID = 18
    /// Discovery in a container and environment: a user's answer, the public data of a user, the user of an address,
    /// and the key for hashing addresses.
    case discoverability = 20
    case discoverable = 21
    case contact = 22
    case contactKey = 23
    /// The most work that a container and its users may ask for.
    case rate = 24
    /// Requests of administrators that have idempotency keys, and their answers.
    case idempotencyKeys = 25
    case idempotentAnswer = 26
    /// A database's assets: an asset, the bytes of a small one, and the use of a chunk by an asset.
    case asset = 30
    case assetBytes = 31
    case chunkUse = 32
    /// The key of the server with which chunks are named.
    case chunkKey = 33
    /// A chunk that a server of several removes, or has removed.
    case leavingChunk = 34
    /// A file that was announced to a database and is on its way.
    case announcedUpload = 56
    /// The bytes that a user has sent into a database and that no record has yet.
    case unsavedFiles = 60
    /// A database's subscriptions: one of a user, the terms by which changes find it, and their count for each kind.
    case subscription = 40
    case subscriptionTerm = 41
    case subscribed = 42
    /// A user's notifications in a container and environment: a device that gets them, and their content.
    case notifiedDevice = 43
    case notification = 44
    /// The server's identity for Apple's push services, for each container, and for the push services of browsers.
    case pushKey = 45
    case pushIdentity = 46
    /// The outcome of the notifications to a device.
    case pushLog = 47
    /// A shared zone of a database.
    case zoneShare = 48
    /// The name of a database's zone that its user purged and that was not saved anew.
    case purgedZone = 61
    /// Record shares of a database: the share that a view of a zone stands for, and a user's acceptance of a share.
    case recordShare = 57
    case shareMembership = 58
    /// The target of a share's URL, in a container and environment.
    case shareLink = 49
    /// The key of the server with which the URLs of shares are made.
    case shareKey = 50
    /// The icon of a container's app.
    case appIcon = 75
    /// A request of an account for access to a share.
    case shareRequest = 59
    /// A token for changing the schema of one container over the admin API.
    case managementToken = 70
    /// The needs of a recorded query, in a schema's environment.
    case recordedQuery = 71
    /// A webhook of a container and environment.
    case webhook = 80
    /// A database's changes that webhooks are told of, and the position of a webhook in a zone.
    case webhookChange = 81
    case webhookPosition = 82
    /// The count of the changes that a webhook was to be told of in a zone.
    case webhookCount = 83
    /// A rule about what the operator is told, its state unless that is fine, and its silence.
    case alertRule = 90
    case alertState = 91
    case alertSilence = 92
    /// Messages about alerts that are still to be sent.
    case untoldAlerts = 93
    /// A person of the team who signs in to the console.
    case teamMember = 98
    /// An account's statements about its keys, its account key sealed for its devices, and the account keys of earlier
    /// generations.
    case keyStatement = 100
    case accountKeyWrap = 101
    case olderAccountKey = 102
    /// A zone's manifests, its newest scope key sealed for accounts, and the scope keys of earlier versions.
    case scopeManifest = 103
    case scopeKeyWrap = 104
    case olderScopeKey = 105
    /// The scope of a share of records, by the name of the share.
    case scopeOfShare = 111
    /// The messages by which a new device of an account joins it.
    case enrolment = 106
    /// The tree of logs of a container and environment: its edge, a node, and the place of a statement.
    case treeEdge = 107
    case treeNode = 108
    case treePlace = 109
    /// The key with which the server signs heads of these trees.
    case treeKey = 110
    /// The links of a zone's scope, and the words of users who came by one.
    case scopeLink = 112
    case scopeJoining = 113
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

/// A small value under a key, for anything that is not a record: containers, accounts, tokens.
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
