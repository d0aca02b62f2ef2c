/// A guarantee that a history shows broken, with the evidence.
package struct Violation: Error, Hashable, Sendable, Encodable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable, Encodable, CaseIterable {
        /// Two batches both replaced one version of a record.
        case doubleSuccess
        /// An acknowledged batch, or one that was seen, is gone.
        case lostWrite
        /// A refused batch was applied all the same.
        case refusedApplied
        /// A request and its retry were both carried out.
        case appliedTwice
        /// A retry was not recognized.
        case retryForgotten
        /// A read or the feed showed part of a batch without the rest.
        case splitBatch
        /// A feed shows batches in an impossible order, or goes back to an older version; or several reads saw orders
        /// that contradict each other.
        case orderInversion
        /// A feed shows a version that it has shown before.
        case repeatedChange
        /// A follower of the feed misses a change.
        case skippedChange
        /// A client that goes on from an older token misses a change.
        case tokenSkips
        /// A token leads nowhere, or in a circle.
        case deadToken
        /// A read shows a version that an acknowledged or seen batch had replaced.
        case staleRead
        /// A change tag names two versions of a record.
        case reusedTag
        /// A record is not as any batch left it.
        case wrongContent
        /// At the end, the feed and a lookup do not show the same.
        case wrongFinalState
        /// A record outlives its owner, or goes in another commit.
        case orphan
        /// A file is gone, or has other bytes than those that were acknowledged.
        case lostFile
        /// An encrypted value is gone, is not the one that was acknowledged, or does not open.
        case lostSecret
        /// A device was not notified of a change that it has subscribed to.
        case notTold
        /// A device was notified of a record that is not there, or that it did not subscribe to.
        case wronglyTold
        /// A user sees, changes or is notified of a record that is not, or no longer, shared with them.
        case leaked
        /// A query misses a record that matched, at one position in its order, from its first page to its last.
        case missed
        /// A query returns a record that does not match, is out of order, or comes twice.
        case wrongAnswer
        /// The server gave an answer for which there is no reason.
        case unexpectedAnswer
    }

    package var kind: Kind
    package var evidence: String

    package init(_ kind: Kind, _ evidence: String) {
        self.kind = kind
        self.evidence = evidence
    }

    package var description: String { "\(kind.rawValue): \(evidence)" }
}
