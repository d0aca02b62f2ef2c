package import NacreCloudWire

/// A copy of a zone of families, made page by page, with its invariants.
///
/// A deleted record is never saved again. Once a page that ends with a commit shows that a record is gone, its
/// dependents are gone too: a commit is not torn. And a follower that has read everything has the target of every
/// reference.
package struct FamilyCheck: Sendable {
    private var owners: [String: String?] = [:]
    private var members: [String: Set<String>] = [:]
    /// Records deleted in a commit whose rest is still to come.
    private var going: Set<String> = []

    package init() {}

    /// Takes the next page.
    /// - Throws: `Violation`.
    package mutating func take(_ page: ChangesZoneResponse.Page) throws {
        for result in page.records {
            switch result {
            case .record(let record):
                forget(record.recordName)
                let owner = FamilyForm.owner(of: record)
                owners[record.recordName] = .some(owner)
                if let owner { members[owner, default: []].insert(record.recordName) }
            case .deleted(let tombstone):
                forget(tombstone.recordName)
                going.insert(tombstone.recordName)
            case .failure(_, let error):
                throw Violation.unexpected(error, asked: "a page of changes")
            }
        }
        guard !page.isMidCommit else { return }
        for name in going.sorted() {
            guard let orphan = members[name]?.min() else { continue }
            throw Violation(.orphan, "the feed shows that \(name) is gone, and not \(orphan), which goes with it")
        }
        going = []
        guard !page.moreComing else { return }
        for (name, owner) in owners {
            guard let owner, owners[owner] == nil else { continue }
            throw Violation(.orphan, "\(name) is there, and \(owner), on which it hangs, is not")
        }
    }

    private mutating func forget(_ name: String) {
        guard let owner = owners.removeValue(forKey: name), let owner else { return }
        members[owner]?.remove(name)
        if members[owner]?.isEmpty == true { members[owner] = nil }
    }
}
