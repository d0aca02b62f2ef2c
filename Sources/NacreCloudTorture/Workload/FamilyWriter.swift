import NacreCloudWire
import NacreLocks
import NacreRandom

/// Makes families in a zone, adds records to those of other writers, and deletes from any record downwards.
struct FamilyWriter {
    private static let newFamilyOnceIn: UInt64 = 4
    private static let deletionOnceIn: UInt64 = 3
    /// Members of a new family at most; each refers to the one before it, or to the root.
    private static let membersMax: UInt64 = 12

    let number: Int
    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private var names = 0
    private var tree: FamilyTree { arena.families.withLock { $0 } }

    init(number: Int, arena: Arena, random: SeededRandom) {
        self.number = number
        self.arena = arena
        self.random = random
    }

    /// Runs until the round is over, or a violation is found.
    mutating func run() async {
        while !arena.board.isOver {
            do {
                try await step()
                arena.board.did { $0.familySteps += 1 }
            } catch AskFault.silent(let text) {
                testimony.silence = text
                return arena.board.end()
            } catch AskFault.refused(let error) {
                testimony.history.fault(.unexpected(error, asked: "family writer \(number)"))
                return arena.board.end()
            } catch {
                testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
                return arena.board.end()
            }
        }
    }

    private mutating func step() async throws {
        let members = tree.members
        if members.isEmpty || random.happens(onceIn: Self.newFamilyOnceIn) { return try await makeFamily() }
        guard let member = members.randomElement(using: &random) else { return }
        if random.happens(onceIn: Self.deletionOnceIn) {
            _ = try await modify([FamilyForm.deletion(member)])
            testimony.counts.cascades += 1
        } else {
            // The member may be gone by now: then its new members are refused.
            let more = (0..<Int(random.next() % 3) + 1).map { _ in newName() }
            let results = try await modify(more.map { FamilyForm.save($0, on: member) })
            for case .failure(_, let error) in results where !Self.expected.contains(error.code) {
                throw Violation(.unexpectedAnswer, "a record that hangs on \(member) was refused with \(error.code.rawValue): \(error.reason)")
            }
            if results.allSatisfy({ if case .record = $0 { true } else { false } }) { arena.families.withLock { $0.grow(more) } }
        }
    }

    /// The target is gone; or, in the answer to a retry, the saved record is.
    private static let expected: Set<ServerErrorCode> = [.validatingReferenceError, .atomicError, .notFound]

    private mutating func makeFamily() async throws {
        let root = newName()
        var made = [root]
        var operations = [FamilyForm.save(root, on: nil)]
        for _ in 0..<random.next() % Self.membersMax {
            let name = newName()
            operations.append(FamilyForm.save(name, on: random.happens(onceIn: 2) ? made[made.count - 1] : root))
            made.append(name)
        }
        operations.shuffle(using: &random)
        _ = try await modify(operations)
        let known = made
        arena.families.withLock { $0.grow(known) }
    }

    private mutating func newName() -> String {
        names += 1
        return FamilyForm.name(number, names)
    }

    private mutating func modify(_ operations: [RecordOperation]) async throws -> [RecordResult] {
        let request = RecordsModifyRequest(
            operations: operations, zoneID: arena.familyZoneID, atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: "\(arena.run)-f\(number)-\(random.next())"))
        let asked = try await arena.device(number).ask("records/modify", request.json(), as: RecordsResponse.self)
        testimony.counts.retries += asked.attempts - 1
        guard asked.answer.records.count == operations.count else {
            throw Violation(.unexpectedAnswer, "\(operations.count) operations have \(asked.answer.records.count) results")
        }
        return asked.answer.records
    }
}
