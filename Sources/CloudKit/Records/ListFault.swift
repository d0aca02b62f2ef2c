import NacreCloudWire

// The rules that the records of one save must keep together. Apple's framework checks them before it sends anything.

extension [RecordState] {
    /// The fault of the records of one save as a list; nil if there is none.
    var faultAsList: CKError? {
        let recordIDs = Set(map(\.recordID))
        for state in self {
            if let root = state.rootOfAddedShare, !recordIDs.contains(root) { return .addedShareWithoutRoot(state.recordID) }
        }
        return recordIDsOfRings.isEmpty ? nil : .ring
    }

    /// The faults of the records of a batch that may be part of a larger one, by record. The root record of a new share
    /// may be in another part: the server checks that.
    var faultsAsPart: [CKRecord.ID: CKError] {
        Dictionary(uniqueKeysWithValues: recordIDsOfRings.map { ($0, .ring) })
    }

    /// The records that depend on each other in a ring, and those that depend on them. A record depends on its parent,
    /// and on the targets of its references with `deleteSelf`.
    ///
    /// Records whose dependencies are in order are taken away; those of a ring, and above it, are never reached.
    private var recordIDsOfRings: Set<CKRecord.ID> {
        let recordIDs = Set(map(\.recordID))
        var waiting: [CKRecord.ID: Int] = [:]
        var dependents: [CKRecord.ID: [CKRecord.ID]] = [:]
        for state in self {
            let needed = state.dependencies.intersection(recordIDs)
            waiting[state.recordID] = needed.count
            for recordID in needed { dependents[recordID, default: []].append(state.recordID) }
        }
        var free = waiting.filter { $0.value == 0 }.map(\.key)
        var unreached = recordIDs
        while let recordID = free.popLast() {
            unreached.remove(recordID)
            for dependent in dependents[recordID] ?? [] {
                let left = (waiting[dependent] ?? 0) - 1
                waiting[dependent] = left
                if left == 0 { free.append(dependent) }
            }
        }
        return unreached
    }
}

extension RecordState {
    /// The root record of a share that the server does not have yet; nil for a share of a whole zone.
    fileprivate var rootOfAddedShare: CKRecord.ID? {
        guard recordChangeTag == nil, let root = sharing?.rootName else { return nil }
        return CKRecord.ID(recordName: root, zoneID: recordID.zoneID)
    }

    /// The records that this record depends on: its parent, and the targets of its references with `deleteSelf`.
    fileprivate var dependencies: Set<CKRecord.ID> {
        var references = parent.map { [$0] } ?? []
        for field in fields.entries {
            switch field.value {
            case .reference(let reference): if reference.action == .deleteSelf { references.append(reference) }
            case .referenceList(let list): references += list.filter { $0.action == .deleteSelf }
            default: continue
            }
        }
        return Set(references.map { CKReference(wire: $0, from: recordID.zoneID).recordID })
    }
}

extension CKError {
    fileprivate static func addedShareWithoutRoot(_ shareID: CKRecord.ID) -> CKError {
        CKError(
            .invalidArguments, text: "An added share is being saved without its rootRecord being saved in the same operation", internalCode: 1017,
            details: [.field: shareID.recordName, .remedy: "Save the share and its root record by one CKModifyRecordsOperation"])
    }

    fileprivate static var ring: CKError {
        CKError(
            .invalidArguments, text: "Invalid list of records: Cycle detected in record graph", internalCode: 1017,
            details: [.remedy: "Let no record of the operation be its own parent or owner, directly or by others"])
    }
}
