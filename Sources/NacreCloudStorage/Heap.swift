/// A binary heap: `first` is the element that precedes all others, whatever the order of insertion.
package struct Heap<Element> {
    private var elements: [Element] = []
    private let precedes: (Element, Element) -> Bool

    package init(_ precedes: @escaping (Element, Element) -> Bool) {
        self.precedes = precedes
    }

    package var first: Element? { elements.first }

    package var isEmpty: Bool { elements.isEmpty }

    package var count: Int { elements.count }

    package func count(_ isCounted: (Element) -> Bool) -> Int {
        elements.count(where: isCounted)
    }

    /// Removes all elements that pass. Looks at each one. If one is removed, the others are inserted anew.
    package mutating func removeAll(where isRemoved: (Element) -> Bool) {
        guard elements.contains(where: isRemoved) else { return }
        let rest = elements.filter { !isRemoved($0) }
        elements = []
        for element in rest { push(element) }
    }

    package mutating func push(_ element: Element) {
        elements.append(element)
        var index = elements.count - 1
        while index > 0, precedes(elements[index], elements[(index - 1) / 2]) {
            elements.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    package mutating func pop() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        guard !elements.isEmpty else { return first }
        elements[0] = last
        var index = 0
        while true {
            var best = index
            for child in [2 * index + 1, 2 * index + 2] where child < elements.count && precedes(elements[child], elements[best]) { best = child }
            if best == index { return first }
            elements.swapAt(index, best)
            index = best
        }
    }
}
