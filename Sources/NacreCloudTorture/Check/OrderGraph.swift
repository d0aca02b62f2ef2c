/// The order that a history demands. If it has a cycle, no order of commits explains the history.
struct OrderGraph {
    enum Reason: UInt8 {
        /// The first was answered before the second was asked.
        case time
        /// The second replaced the version that the first had left.
        case builds
        /// The read shows the batch.
        case shows
        /// The read does not show the batch.
        case lacks
        /// The feed shows the first before the second.
        case precedes
    }

    struct Edge {
        var from: Int32
        var to: Int32
        var reason: Reason
    }

    private(set) var count: Int
    private var edges: [Edge] = []
    /// starts[node]: the index of its first edge, once they are sorted.
    private var starts: [Int] = []

    init(nodes: Int) {
        count = nodes
    }

    mutating func addNode() -> Int {
        count += 1
        return count - 1
    }

    mutating func add(_ from: Int, _ to: Int, _ reason: Reason) {
        edges.append(Edge(from: Int32(truncatingIfNeeded: from), to: Int32(truncatingIfNeeded: to), reason: reason))
    }

    /// Returns cycles, each through an edge of its own, until there are none, or `limit`. Each round is linear in the
    /// graph, and finds one cycle in every strongly connected component that is left.
    mutating func cycles(limit: Int) -> [[Edge]] {
        var found: [[Edge]] = []
        while found.count < limit {
            arrange()
            let knots = knots()
            var cut: Set<Int> = []
            for knot in knots where found.count < limit {
                guard let (edge, cycle) = shortCycle(in: knot) else { continue }
                found.append(cycle)
                cut.insert(edge)
            }
            if cut.isEmpty { break }
            edges = edges.indices.filter { !cut.contains($0) }.map { edges[$0] }
        }
        return found
    }

    /// Sorts the edges by their origin.
    private mutating func arrange() {
        var starts = [Int](repeating: 0, count: count + 1)
        for edge in edges { starts[Int(edge.from) + 1] += 1 }
        for node in 0..<count { starts[node + 1] += starts[node] }
        var places = starts
        var sorted = edges
        for edge in edges {
            sorted[places[Int(edge.from)]] = edge
            places[Int(edge.from)] += 1
        }
        edges = sorted
        self.starts = starts
    }

    /// Returns the strongly connected components of two or more nodes (Tarjan 1972), without recursion: chains are
    /// long.
    private func knots() -> [Set<Int>] {
        var knots: [Set<Int>] = []
        var index = [Int](repeating: -1, count: count)
        var low = index
        var isOpen = [Bool](repeating: false, count: count)
        var stack: [Int] = []
        var path: [(node: Int, edge: Int)] = []
        var counter = 0
        func enter(_ node: Int) {
            index[node] = counter
            low[node] = counter
            counter += 1
            isOpen[node] = true
            stack.append(node)
            path.append((node, starts[node]))
        }
        for root in 0..<count where index[root] < 0 {
            enter(root)
            while let (node, edge) = path.last {
                if edge < starts[node + 1] {
                    path[path.count - 1].edge += 1
                    let to = Int(edges[edge].to)
                    if index[to] < 0 { enter(to) } else if isOpen[to] { low[node] = min(low[node], index[to]) }
                    continue
                }
                path.removeLast()
                if let parent = path.last?.node { low[parent] = min(low[parent], low[node]) }
                guard low[node] == index[node] else { continue }
                var knot: Set<Int> = []
                while let member = stack.popLast() {
                    isOpen[member] = false
                    knot.insert(member)
                    if member == node { break }
                }
                if knot.count > 1 { knots.append(knot) }
            }
        }
        return knots
    }

    /// Edges of a component that are tried for a short cycle.
    private static let candidatesMax = 32

    /// Returns the shortest cycle through one of the edges that accuse a read, with that edge.
    private func shortCycle(in knot: Set<Int>) -> (edge: Int, cycle: [Edge])? {
        let inside = knot.sorted().flatMap { starts[$0]..<starts[$0 + 1] }.filter { knot.contains(Int(edges[$0].to)) }
        let accusing = inside.filter { edges[$0].reason == .lacks }
        let candidates = accusing.isEmpty ? inside.filter { edges[$0].reason == .precedes } : accusing
        var best: (edge: Int, cycle: [Edge])?
        for edge in (candidates.isEmpty ? inside : candidates).prefix(Self.candidatesMax) {
            guard let way = way(from: Int(edges[edge].to), to: Int(edges[edge].from), in: knot) else { continue }
            if best.map({ way.count + 1 < $0.cycle.count }) ?? true { best = (edge, [edges[edge]] + way) }
        }
        return best
    }

    private func way(from start: Int, to end: Int, in knot: Set<Int>) -> [Edge]? {
        var cameBy: [Int: Int] = [:]
        var queue = [start]
        var head = 0
        while head < queue.count, cameBy[end] == nil {
            let node = queue[head]
            head += 1
            for edge in starts[node]..<starts[node + 1] {
                let to = Int(edges[edge].to)
                guard knot.contains(to), to != start, cameBy[to] == nil else { continue }
                cameBy[to] = edge
                queue.append(to)
            }
        }
        var way: [Edge] = []
        var node = end
        while node != start, let edge = cameBy[node] {
            way.append(edges[edge])
            node = Int(edges[edge].from)
        }
        return node == start ? way.reversed() : nil
    }
}
