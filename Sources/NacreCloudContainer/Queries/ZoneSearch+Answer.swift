extension ZoneSearch {
    /// The result of one zone.
    package struct Answer {
        /// The records in order, at most `wanted`.
        package var hits: [QueryHit]
        /// The position up to which nothing is missing; nil: the end of the zone.
        package var end: QueryPosition?
        /// Whether a bound on the work ended it, and not the number of records.
        package var isCut = false

        package var isWhole: Bool { end == nil && !isCut }

        /// Makes an answer without progress.
        package static func nothing(_ after: QueryPosition?) -> Answer { Answer(hits: [], end: after ?? .start, isCut: true) }
    }
}
