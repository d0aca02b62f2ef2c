package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `records/modify`: changes records of one zone, in one transaction. Nothing is written when nothing was changed.
    ///
    /// Costs at most five calls of the store, whatever the batch: advance, its records, their targets, the dependents
    /// of deleted records and targets, and one plan. Further calls:
    /// - two for each level of a cascade;
    /// - one where a private database has a quota;
    /// - one where a file is saved in a record for the first time;
    /// - one where the database has subscriptions;
    /// - two where webhooks are told, and up to four for each webhook that keeps as much as it may;
    /// - one where the zone is another user's;
    /// - one where it wants short GUIDs;
    /// - two where it brings many words of searched texts, to read the texts that they may replace.
    ///
    /// A decision that has to look at much is made beside the writer first (see `LongDecision`). It costs those calls
    /// twice, and once more where something is to be written.
    ///
    /// - Parameters:
    ///   - digest: the digest of the request's bytes; two requests with one operation ID must have one digest.
    ///   - age: seconds since a repeated request was sent for the first time; nil: it is not repeated.
    ///   - place: the stage at which the request is decided; nil: at the writer, after a snapshot where that would look
    ///     at much.
    /// - Throws: `ServerError` for the request as a whole; an error of one record is its own result. `LongDecision`,
    ///   where `place` is the writer and the decision would look at too much there.
    package func modifyRecords(
        _ request: RecordsModifyRequest, in target: DatabaseTarget, by caller: Caller, digest: [UInt8], age: Double? = nil,
        at place: DecisionStage? = nil
    ) async throws -> RecordsResponse {
        let database = try await database(holding: request.zoneID, target, for: .write, by: caller)
        let key = database.key
        let zone = try database.zone(request.zoneID)
        let modification = try RecordModification(
            request, in: zone, shareLinks: try await shareLinks(for: request, in: zone),
            digest: digest, age: age, now: clock(), newZone: Int64(bitPattern: random() >> 1),
            cascadeRoom: bounds.cascadePerTransaction, webhooksKeep: bounds.webhooksKeep, quotas: bounds.quotas, handed: handed,
            receipt: assetLinks.tokens.receipt, name: uuid)
        WorkMeter.current?.add(rows: modification.targets.count)
        let shortGUIDKey = try await shortGUIDKey(for: request, in: zone)
        let outcome = try await schemas.withSchema(of: key.container, key.environment) { schema in
            try await findingWords(of: modification, in: key, request.zoneID, by: schema.schema) { modification in
                var turn = Turn.current
                turn.derivedRows = modification.indexRows(by: schema.schema)
                return try await turn.doing {
                    try await stored(of: key, zone: request.zoneID) { try await self.carryOut(modification, with: schema, at: place) }
                }
            }
        }
        report(outcome.damaged, of: key, request.zoneID)
        WorkMeter.current?.add(rows: outcome.derivedRows)
        if outcome.movedFeed { committed(database.id) }
        var response = outcome.response
        if let shortGUIDKey, let address = outcome.zone { addShortGUIDs(to: &response, as: request, in: address, under: shortGUIDKey) }
        return response
    }

    /// Finds the words of the texts that the request brings, before it is carried out. For long texts it also finds
    /// those of the texts that they may replace, on another executor. Words for which `wordRoom` has no room are left
    /// to the transaction.
    private func findingWords<Value>(
        of modification: RecordModification, in key: DatabaseKey, _ zone: ZoneID, by schema: Schema,
        _ body: (RecordModification) async throws -> Value
    ) async throws -> Value {
        var modification = modification
        let brought = modification.broughtTexts(by: schema)
        guard brought.bytes > SearchedTexts.shortBytes else {
            if brought.bytes > 0 { modification.words = await brought.words() }
            return try await body(modification)
        }
        guard wordRoom.take(brought.bytes) else { return try await body(modification) }
        var taken = brought.bytes
        defer { wordRoom.giveBack(taken) }
        var texts = [brought]
        if modification.mayReplace {
            let patience = Patience.endless.paid(by: .current)
            let standing = try await stored(of: key, zone: zone) { [modification] in
                try await self.beside { try modification.storedTexts(on: $0, by: schema, patience) }
            }
            if wordRoom.take(standing.bytes) {
                taken += standing.bytes
                texts.append(standing)
            }
        }
        modification.words = await withTaskExecutorPreference(process.longWork) { [texts] in
            var words = FoundWords()
            for texts in texts { words.add(await texts.words()) }
            return words
        }
        WorkMeter.current?.add(rows: modification.words.count / IndexKeys.perRow)
        return try await body(modification)
    }

    private func carryOut(
        _ modification: RecordModification, with schema: KnownSchema, at place: DecisionStage?
    ) async throws -> RecordModification.Outcome {
        let ofWriter = Patience.ofWriter.paid(by: .current)
        let endless = Patience.endless.paid(by: .current)
        if place != .snapshot {
            do {
                return try await store.write { try modification.run($0, with: schema, ofWriter) }
            } catch is LongDecision where place == nil {}
        }
        if let unwritten = try await beside({ try modification.unwritten(on: $0, with: schema, endless) }) { return unwritten }
        return try await store.write { try modification.run($0, with: schema, endless) }
    }

    /// Reads as a bulk read of the store, behind requests that read little.
    private func beside<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        var turn = Turn.current
        turn.kind = .bulk
        return try await Turn.$current.withValue(turn) { try await store.read(body) }
    }
}
