import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the rules of `.deleteSelf` and `.validate`: as values, and with a store.
@Suite struct CascadeTableTests {
    // MARK: As values

    @Test(arguments: CascadeRow.rows) func `the rules say so of each batch, in every order`(row: CascadeRow) {
        for batch in Self.orders(of: row.batch) {
            let settled = Self.settled(batch.map(\.operation), over: row.world)
            #expect(settled.verdicts.map(Self.fate) == batch.map(\.fate), "\(batch.map(\.operation.change.recordName))")
            let saved = zip(settled.items, batch).filter { $0.1.fate == .saved }.map(\.0.name)
            let living = Set(row.world.compactMap(\.change.recordName)).subtracting(settled.going).union(saved)
            #expect(living == row.living)
            #expect(settled.unfinished.isEmpty)
        }
    }

    private static func orders<Element>(of elements: [Element]) -> [[Element]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { index in
            var rest = elements
            let first = rest.remove(at: index)
            return orders(of: rest).map { [first] + $0 }
        }
    }

    private static func settled(_ operations: [RecordOperation], over world: [RecordOperation]) -> ModifyBatch {
        let records = world.map { operation in
            var parent: String?
            if case .set(let reference) = operation.change.parent { parent = reference.recordName }
            return StoredRecord.sample(operation.change.recordName ?? "", seq: 1, parent: parent, fields: operation.change.set)
        }
        var wanted: Set<String> = []
        for operation in operations {
            wanted.insert(operation.change.recordName ?? "")
            wanted.formUnion(operation.change.set.bindingReferences.map(\.link.target))
            if case .set(let reference) = operation.change.parent { wanted.insert(reference.recordName) }
        }
        var batch = ModifyBatch(operations, over: records.filter { wanted.contains($0.row.name) })
        batch.settle(within: reach(of: batch, in: records))
        return batch
    }

    /// Returns the reach of a batch's deletions as a store would, found by looking at every record.
    private static func reach(of batch: ModifyBatch, in records: [StoredRecord]) -> CascadeReach {
        var mayGo = Set(batch.deletedNames)
        var count = 0
        while count < mayGo.count {
            count = mayGo.count
            for record in records where !record.content.fields.owners.isDisjoint(with: mayGo) { mayGo.insert(record.row.name) }
        }
        var reach = CascadeReach()
        for record in records {
            let name = record.row.name
            for owner in record.content.fields.owners { reach.holders[owner, default: []].insert(name) }
            guard batch.places[name] == nil else { continue }
            if mayGo.contains(name) { reach.followers[name] = record } else { reach.heldOutside.formUnion(record.held) }
        }
        reach.heldOutside.formIntersection(mayGo)
        return reach
    }

    private static func fate(of verdict: RecordVerdict) -> CascadeRow.Fate {
        switch verdict {
        case .save: .saved
        case .delete: .deleted
        case .nothing: .nothing
        case .refuse(let error): fate(of: error)
        }
    }

    private static func fate(of error: ServerError) -> CascadeRow.Fate {
        if error.reason == ServerError.targetNotFound("").reason { return .noTarget }
        // The reason has the name: deleteViolatesReference.
        guard error.code == .validatingReferenceError, let name = error.reason.split(separator: "[").last?.split(separator: "]").first else {
            return .refused
        }
        return .held(String(name))
    }

    // MARK: With a store

    @Test(arguments: Engine.ofRules) func `a cloud does with each batch what the rules say`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        for (index, row) in CascadeRow.rows.enumerated() {
            for (zone, batch) in [("\(index).f", row.batch), ("\(index).b", row.batch.reversed())] {
                try await ann.makeZone(zone)
                try await ann.save(row.world, zone: zone)
                let answers = try await ann.modify(batch.map(\.operation), zone: zone, atomic: false)
                #expect(answers.map { $0.error.map(Self.fate) } == batch.map { Self.error($0.fate) }, "\(row.title), zone \(zone)")
                #expect(try await living(row, ann, zone) == row.living, "\(row.title), zone \(zone)")
            }
        }
    }

    @Test(arguments: Engine.ofRules) func `an atomic batch is done whole, or leaves everything as it was`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        for (index, row) in CascadeRow.rows.enumerated() {
            let zone = "\(index)"
            try await ann.makeZone(zone)
            try await ann.save(row.world, zone: zone)
            let answers = try await ann.modify(row.batch.map(\.operation), zone: zone, atomic: true)
            let fails = row.batch.contains { Self.error($0.fate) != nil }
            for (answer, fate) in zip(answers, row.batch.map(\.fate)) {
                let expected = Self.error(fate)
                #expect(
                    fails && expected == nil ? answer.error == .atomicFailure : answer.error.map(Self.fate) == expected, "\(row.title)")
            }
            let before = Set(row.world.compactMap(\.change.recordName))
            #expect(try await living(row, ann, zone) == (fails ? before : row.living), "\(row.title)")
        }
    }

    /// Returns the fate; nil for a success.
    private static func error(_ fate: CascadeRow.Fate) -> CascadeRow.Fate? {
        switch fate {
        case .saved, .deleted, .nothing: nil
        case .held, .noTarget, .refused: fate
        }
    }

    private func living(_ row: CascadeRow, _ user: TestCloudUser, _ zone: String) async throws -> Set<String> {
        let names = Set((row.world + row.batch.map(\.operation)).compactMap(\.change.recordName))
        return Set(try await user.living(names.sorted(), zone: zone))
    }
}
