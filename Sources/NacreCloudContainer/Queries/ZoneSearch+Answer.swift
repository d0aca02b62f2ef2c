extension ZoneSearch {
    /// The result of one zone.
    struct Answer {
        /// The records in order, at most `wanted`.
        var hits: [QueryHit]
        /// The position up to which nothing is missing; nil: the end of the zone.
        var end: QueryPosition?
        /// Whether a bound on the work ended it, and not the number of records.
        var isCut = false

        var isWhole: Bool { end == nil && !isCut }

        /// Makes an answer without progress.
        static func nothing(_ after: QueryPosition?) -> Answer { Answer(hits: [], end: after ?? .start, isCut: true) }
    }
}
