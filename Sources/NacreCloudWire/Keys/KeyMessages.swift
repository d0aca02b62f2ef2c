/// `POST keys/append`, an endpoint of this server's own: adds a statement to the caller's log of keys, and keeps the
/// keys that are sealed for it. All parts are forms of docs/encryption.md.
package struct KeysAppendRequest: Equatable, Sendable {
    package var statement: [UInt8]
    /// The account key, sealed for devices and the recovery key.
    package var wraps: [[UInt8]]
    /// The account key of the generation before, sealed under the next one.
    package var olderKey: [UInt8]?
    package var `extension`: RequestExtension

    package init(
        statement: [UInt8], wraps: [[UInt8]] = [], olderKey: [UInt8]? = nil, extension: RequestExtension = RequestExtension()
    ) {
        self.statement = statement
        self.wraps = wraps
        self.olderKey = olderKey
        self.extension = `extension`
    }
}

/// The answer to `keys/append`.
package struct KeysAppendResponse: Equatable, Sendable {
    /// The statement's place among those of all logs of the account, from 0.
    package var place: Int

    package init(place: Int) {
        self.place = place
    }
}

/// `POST keys/log`, an endpoint of this server's own: asks for the statements of an account's logs.
package struct KeysLogRequest: Equatable, Sendable {
    /// The name of the user's record; nil: the caller's.
    package var user: String?
    /// The place of the last statement that the client has; nil: none.
    package var after: Int?
    /// The size of the largest tree of logs that the client has seen; nil: it wants no proof that the tree only grew.
    package var treeSize: Int?
    package var `extension`: RequestExtension

    package init(user: String? = nil, after: Int? = nil, treeSize: Int? = nil, extension: RequestExtension = RequestExtension()) {
        self.user = user
        self.after = after
        self.treeSize = treeSize
        self.extension = `extension`
    }
}

/// The answer to `keys/log`.
package struct KeysLogResponse: Equatable, Sendable {
    package var statements: [[UInt8]]
    package var moreComing: Bool
    /// The caller's account key, sealed for devices and the recovery key. Like the older keys, it comes with the last
    /// page of the caller's own log; nil: this is none.
    package var wraps: [[UInt8]]?
    /// The account keys of earlier generations, the oldest first, each sealed under the next one.
    package var olderKeys: [[UInt8]]?
    /// The tree of logs.
    package var tree: Tree?

    /// The tree over the statements of all accounts of an environment, with proofs about it.
    package struct Tree: Equatable, Sendable {
        /// The signed head, a form of docs/encryption.md.
        package var head: [UInt8]
        /// The key that has signed it.
        package var serverKey: [UInt8]
        /// The place of the last answered statement in the tree, from 0; nil: none is answered.
        package var index: Int?
        /// The proof that the statement is there.
        package var inclusion: [[UInt8]]?
        /// The proof that the tree extends the one that the client has seen; nil: it has named none.
        package var consistency: [[UInt8]]?

        package init(head: [UInt8], serverKey: [UInt8], index: Int? = nil, inclusion: [[UInt8]]? = nil, consistency: [[UInt8]]? = nil) {
            self.head = head
            self.serverKey = serverKey
            self.index = index
            self.inclusion = inclusion
            self.consistency = consistency
        }
    }

    package init(
        statements: [[UInt8]], moreComing: Bool = false, wraps: [[UInt8]]? = nil, olderKeys: [[UInt8]]? = nil, tree: Tree? = nil
    ) {
        self.tree = tree
        self.statements = statements
        self.moreComing = moreComing
        self.wraps = wraps
        self.olderKeys = olderKeys
    }
}
