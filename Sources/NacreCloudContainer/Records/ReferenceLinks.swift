package import NacreCloudStorage
package import NacreCloudWire

/// A reference that does more than point: its target must exist, and the target's deletion has a consequence.
package struct BindingReference: Hashable, Sendable {
    package var field: String
    package var link: ReferenceLink
}

extension RecordFields {
    /// The references that do more than point, with the fields that hold them.
    package var bindingReferences: [BindingReference] {
        var found: [BindingReference] = []
        // Loops over indices: most fields hold no reference, and are not copied to find out.
        for index in entries.indices {
            switch entries[index].value {
            case .reference(let reference):
                if let link = ReferenceLink(reference) { found.append(BindingReference(field: entries[index].name, link: link)) }
            case .referenceList(let list):
                found.append(contentsOf: list.lazy.compactMap(ReferenceLink.init).map { BindingReference(field: entries[index].name, link: $0) })
            default: break
            }
        }
        return found
    }

    /// Names of the records whose deletion takes this one along.
    package var owners: Set<String> { bindingReferences.owners }
}

extension [BindingReference] {
    /// The links of the references: each target and kind once, whatever the number of fields.
    package var links: Set<ReferenceLink> {
        Set(lazy.map(\.link))
    }

    /// Returns the links that engines keep. In a public database a parent gets one too, as its own column does not say
    /// enough.
    package func links(parent: String?, inPublic isPublic: Bool) -> Set<ReferenceLink> {
        guard isPublic, let parent else { return links }
        return links.union([ReferenceLink(target: parent, kind: .validate)])
    }

    /// Names of the records whose deletion takes along the record with these references.
    package var owners: Set<String> {
        Set(lazy.filter { $0.link.kind == .deleteSelf }.map(\.link.target))
    }
}

extension ReferenceLink {
    /// Returns nil for a reference that only points.
    package init?(_ reference: Reference) {
        switch reference.action {
        case .none: return nil
        case .deleteSelf: self.init(target: reference.recordName, kind: .deleteSelf)
        case .validate: self.init(target: reference.recordName, kind: .validate)
        }
    }
}

extension ReferenceLink {
    /// The links in which a reference may be kept in a public database. The target's creator is not looked up again.
    package var inPublic: [ReferenceLink] {
        kind == .deleteSelf ? [self, ReferenceLink(target: target, kind: .othersDeleteSelf)] : [self]
    }

    /// The link kept for a record whose creator is not the target's; nil: it has no effect then.
    ///
    /// See `docs/decisions/records-references.md`.
    package var ofOthers: ReferenceLink? {
        switch kind {
        case .deleteSelf, .othersDeleteSelf: ReferenceLink(target: target, kind: .othersDeleteSelf)
        case .validate: nil
        }
    }
}

extension StoredRecord {
    package var creator: String { content.created.userRecordName }

    /// Names of the records that cannot be deleted while this one stays: its parent, and its `.validate` targets.
    package var held: [String] {
        let validated = content.fields.bindingReferences.lazy.filter { $0.link.kind == .validate }.map(\.link.target)
        return (row.parent.map { [$0] } ?? []) + validated
    }
}
