/// Runs jobs in their order, some at a time, and passes on each result as it comes.
///
/// - Parameters:
///   - work: cancelled with the calling task, and when `take` returns false.
///   - take: gets the result of every job that was started; returns whether to start more.
func inParallel<Job: Sendable, Value: Sendable>(
    _ jobs: [Job], atMost limit: Int, work: @escaping @Sendable (Job) async -> Value, take: (Job, Value) async -> Bool
) async {
    await withTaskGroup(of: (Int, Value).self) { group in
        var rest = jobs.indices[...]
        func begin() {
            guard let place = rest.popFirst() else { return }
            let job = jobs[place]
            group.addTask { (place, await work(job)) }
        }
        for _ in 0..<limit { begin() }
        for await (place, value) in group {
            if await take(jobs[place], value) {
                begin()
            } else {
                rest = rest.suffix(0)
                group.cancelAll()
            }
        }
    }
}
