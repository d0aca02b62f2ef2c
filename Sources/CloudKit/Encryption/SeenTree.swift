#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreCrypto
    package import NacreEncryptionForms

    // The rule by which a device takes the tree of logs from a server: docs/encryption.md, "The tree of logs". It is a
    // function over values, as in Keyring.swift.

    /// The tree of logs as this device has seen it.
    package struct SeenTree: Hashable, Sendable {
        /// Two heads that the server has signed, and has not shown to be of one tree.
        package struct Doubt: Hashable, Sendable {
            package let kept: TreeHead
            package let shown: TreeHead

            /// Whether the two heads alone prove to anybody that the server has shown two trees.
            package var isProof: Bool { kept.size == shown.size && kept.root != shown.root }
        }

        /// The key with which the server signed the first head that this device saw.
        package let server: KeyBytes
        /// The largest head.
        package var head: TreeHead
        /// The first such heads; two that prove a fork take the place of others.
        package var doubt: Doubt?

        package init(server: KeyBytes, head: TreeHead, doubt: Doubt? = nil) {
            (self.server, self.head, self.doubt) = (server, head, doubt)
        }
    }

    /// The outcome of a look at the tree that came with a log.
    enum TreeVerdict: Sendable {
        /// The log is in the tree, and the tree is the kept one or extends it.
        case taken
        /// Another process has kept another tree since the request was made.
        case askAgain
        case refused(CKError)
    }

    extension KeptKeys {
        /// Checks the tree that came with a log against the one that was kept, and keeps the larger one. Keeps two
        /// heads that are not of one tree. The first tree is taken as it is, with the key that has signed it.
        ///
        /// - Parameters:
        ///   - statements: the statements of the log, all that the account has.
        ///   - asked: the kept tree whose size the request has named; nil: none was kept.
        mutating func take(
            _ shown: KeysLogResponse.Tree?, of statements: [[UInt8]], in account: AccountName, since asked: SeenTree?
        ) -> TreeVerdict {
            guard let shown, let head = try? TreeHead(shown.head), let key = KeyBytes(shown.serverKey),
                let verifier = try? Ed25519.PublicKey(shown.serverKey)
            else { return .refused(.treeRefused("The server shows no tree of logs")) }
            let isKept = tree.map { $0.server == key && $0.head.size == head.size && $0.head.root == head.root } ?? false
            guard isKept || asked?.head == tree?.head && asked?.server == tree?.server else { return .askAgain }
            guard tree.map({ $0.server == key }) ?? true else {
                return .refused(.treeRefused("The server signs the tree of logs with another key than before"))
            }
            guard head.container == account.container, head.environment == account.environment else {
                return .refused(.treeRefused("\(TreeFault.notSigned)"))
            }
            do throws(TreeFault) {
                var kept = try KeptTreeHead(first: tree?.head ?? head, server: verifier)
                try kept.take(head, proof: isKept ? [] : shown.consistency ?? [], server: verifier)
                guard Self.includes(statements, head, shown) else {
                    return .refused(.treeRefused("The newest statement of the log is not in the tree of logs"))
                }
                if tree?.head != kept.head { tree = SeenTree(server: key, head: kept.head, doubt: tree?.doubt) }
                return .taken
            } catch {
                if error != .notSigned, let kept = tree?.head { doubt(SeenTree.Doubt(kept: kept, shown: head)) }
                return .refused(.treeRefused("\(error)"))
            }
        }

        private mutating func doubt(_ new: SeenTree.Doubt) {
            guard tree?.doubt == nil || new.isProof && tree?.doubt?.isProof == false else { return }
            tree?.doubt = new
        }

        /// Whether the proof shows that the last statement is in the tree. An account without statements is in none.
        private static func includes(_ statements: [[UInt8]], _ head: TreeHead, _ shown: KeysLogResponse.Tree) -> Bool {
            guard let newest = statements.last else { return true }
            let first = statements.last { bytes in
                if case .begin? = (try? KeyStatement(bytes))?.action { true } else { false }
            }
            guard let first, let statement = try? KeyStatement(newest), let index = shown.index, let proof = shown.inclusion else { return false }
            let entry = TreeOfLogs.entry(fingerprint: Digest(of: first), number: statement.number, hash: statement.hash)
            return head.merkle.includes(entry, at: index, proof: proof)
        }
    }

    extension UserKeys {
        /// Takes the tree of logs that the server shows now, in the place of the one that this device has seen, and
        /// forgets the proof of a fork. Forgets what was seen of the account's log, of other users' accounts and of
        /// zones' keys, too: they may all be older now. It is for a server that was put back from a backup.
        ///
        /// - Throws: an error if what the server shows does not verify by itself. Nothing is forgotten then.
        package func trustTree() async throws(CKError) {
            let (shown, tree) = try await exchange.pages(of: nil, since: nil)
            try await line.keyStore.update(exchange.account) { [name = exchange.account.name] kept throws(CKError) in
                try kept.trust(shown, tree, of: name)
            }
            forgetOpened()
        }
    }

    extension KeptKeys {
        fileprivate mutating func trust(_ shown: ShownAccount, _ tree: KeysLogResponse.Tree?, of account: AccountName) throws(CKError) {
            (self.tree, own) = (nil, nil)
            (scopes, sharedScopes, accounts, passes) = ([:], [:], [:], [:])
            switch take(tree, of: shown.statements, in: account, since: nil) {
            case .taken: _ = try take(shown, of: account)
            case .askAgain: throw .keysAreBusy
            case .refused(let error): throw error
            }
        }
    }
#endif
