package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire
import NacreEncryptionForms

extension Cloud {
    /// `keys/enrolment/post`: leaves a message of an enrolment for the other devices of the caller. A repeated request
    /// is answered as before. Costs three calls of the store.
    package func postEnrolment(
        _ request: KeysEnrolmentPostRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> KeysEnrolmentPostResponse {
        let (database, _) = try await keyDatabase(target, by: caller)
        let (message, now) = (try EnrolmentMessage(request.message), clock())
        let conversation = try message.conversation
        return try await stored(of: database.key) {
            try await self.store.write { transaction in
                let advance = try transaction.lock(in: database.id)
                if let row = advance.database, row.key != database.key { throw ServerError.internalError }
                let rows = try transaction.enrolments(in: database.id)
                let key = KeyEntries.enrolment(conversation, in: database.id)
                let living = try rows.living(at: now).map { row in try EnrolmentConversation(row) }
                guard
                    let next = try EnrolmentConversation.next(of: living, with: message, named: conversation, by: caller.signIn, at: now)
                else { return .rollback(KeysEnrolmentPostResponse()) }
                var plan = WritePlan()
                if advance.database == nil {
                    plan.databases.append(DatabaseRow(id: database.id, key: database.key, run: advance.run, lastSeq: 0))
                }
                plan.entries = [next.row(in: database.id)]
                plan.entriesRemoved = rows.filter { !$0.isLiving(at: now) && $0.key != key }.map(\.key)
                try transaction.apply(plan)
                return .commit(KeysEnrolmentPostResponse())
            }
        }
    }

    /// `keys/enrolment/list`: the conversations of the caller's devices. A device that waits for a message asks again.
    package func listEnrolments(
        _ request: KeysEnrolmentListRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> KeysEnrolmentListResponse {
        let (database, _) = try await keyDatabase(target, by: caller)
        let now = clock()
        let conversations = try await stored(of: database.key) {
            try await self.store.read { transaction in
                try transaction.enrolments(in: database.id).living(at: now).map { row in try EnrolmentConversation(row) }
            }
        }
        let inOrder = conversations.sorted { $0.expires < $1.expires }
        return KeysEnrolmentListResponse(
            conversations: inOrder.map { .init(commitment: $0.commitment.bytes, answer: $0.answer?.bytes, opening: $0.opening?.bytes) })
    }
}

extension Caller {
    /// The sign-in of a device or a browser; empty for a caller without one.
    fileprivate var signIn: String {
        switch credential {
        case .session(let id, _, _): "session \(id)"
        case .device(let id, _): "device \(id)"
        case .apiToken, .serverKey, nil: ""
        }
    }
}

extension ReadTransaction {
    /// Returns the enrolments of a database, expired ones too: there are no more, since each new one takes them along.
    fileprivate func enrolments(in database: DatabaseID) throws -> [EntryRow] {
        try entries(in: database, .enrolment, after: nil, limit: Limits.enrolmentsPerAccount)
    }
}
