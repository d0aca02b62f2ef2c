import NacreCloudWire

/// A reference whose target must be there, and whose target's end has a consequence.
struct BindingReference: Hashable, Sendable {
    var field: String
    var link: ReferenceLink
}

extension RecordFields {
    /// Those that do more than point, with the fields that hold them.
    var bindingReferences: [BindingReference] {
        var found: [BindingReference] = []
        // By place: most fields hold no reference, and are not copied for the question.
        for place in entries.indices {
            switch entries[place].value {
            case .reference(let reference):
                if let link = ReferenceLink(reference) { found.append(BindingReference(field: entries[place].name, link: link)) }
            case .referenceList(let list):
                found.append(contentsOf: list.lazy.compactMap(ReferenceLink.init).map { BindingReference(field: entries[place].name, link: $0) })
            default: break
            }
        }
        return found
    }

    /// The records with which this one goes.
    var owners: Set<String> { bindingReferences.owners }
}

extension [BindingReference] {
    /// Each target and kind once, however many fields say it.
    var links: Set<ReferenceLink> {
        Set(lazy.map(\.link))
    }

    /// What engines keep of them, and of a parent where its own column does not say enough.
    func links(parent: String?, inPublic isPublic: Bool) -> Set<ReferenceLink> {
        guard isPublic, let parent else { return links }
        return links.union([ReferenceLink(target: parent, kind: .validate)])
    }

    /// The records with which the one that has them goes.
    var owners: Set<String> {
        Set(lazy.filter { $0.link.kind == .deleteSelf }.map(\.link.target))
    }
}

extension ReferenceLink {
    /// nil for a reference that only points.
    init?(_ reference: Reference) {
        switch reference.action {
        case .none: return nil
        case .deleteSelf: self.init(target: reference.recordName, kind: .deleteSelf)
        case .validate: self.init(target: reference.recordName, kind: .validate)
        }
    }
}

extension ReferenceLink {
    /// The links as which a reference may be kept in a public database: whose its target was, is not looked up again.
    var inPublic: [ReferenceLink] {
        kind == .deleteSelf ? [self, ReferenceLink(target: target, kind: .othersDeleteSelf)] : [self]
    }

    /// As it is kept for a record of somebody else than its target's; nil where it holds nothing then.
    ///
    /// See `docs/decisions/a-stranger-holds-nothing-in-public.md`.
    var ofOthers: ReferenceLink? {
        switch kind {
        case .deleteSelf, .othersDeleteSelf: ReferenceLink(target: target, kind: .othersDeleteSelf)
        case .validate: nil
        }
    }
}

extension StoredRecord {
    var creator: String { content.created.userRecordName }

    /// The records that are not deleted while this one stays: its parent, and what it refers to with `.validate`.
    var held: [String] {
        let validated = content.fields.bindingReferences.lazy.filter { $0.link.kind == .validate }.map(\.link.target)
        return (row.parent.map { [$0] } ?? []) + validated
    }
}
