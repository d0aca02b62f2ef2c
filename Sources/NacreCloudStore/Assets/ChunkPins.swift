import NacreCloudStorage

/// The chunks that receivers are taking in, and those that are checked for removal. A value, kept under a lock. A
/// removal begins, asks whether rows refer to the chunk, and ends. A receiver that takes the chunk up meanwhile cancels
/// the removal: its rows may have been committed after the question.
struct ChunkPins: Sendable {
    private var pins: [ChunkName: Int] = [:]
    private var leaving: Set<ChunkName> = []

    mutating func pin(_ name: ChunkName) {
        pins[name, default: 0] += 1
        leaving.remove(name)
    }

    mutating func unpin(_ name: ChunkName) {
        guard let count = pins[name] else { return }
        pins[name] = count > 1 ? count - 1 : nil
    }

    /// - Returns: The chunks that no receiver has pinned.
    mutating func beginRemoving(_ names: [ChunkName]) -> [ChunkName] {
        let free = names.filter { pins[$0] == nil }
        leaving.formUnion(free)
        return free
    }

    /// - Returns: Whether no receiver has pinned the chunk since.
    mutating func endRemoving(_ name: ChunkName) -> Bool {
        leaving.remove(name) != nil
    }
}
