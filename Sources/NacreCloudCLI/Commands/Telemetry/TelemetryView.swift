import Foundation
import NacreCloudServer

/// Telemetry for a person: a headline, bars of the requests over time, a table, and what changed.
struct TelemetryView {
    let answer: AdminMessages.Telemetry
    /// Columns of the terminal.
    let width: Int
    /// Whether the terminal shows block characters.
    let hasBlocks: Bool

    private static let rows = 5

    var lines: [String] {
        var lines = headline + chart + table
        if answer.hasHidden {
            lines.append("Figures of private and shared databases over fewer than five users, or of a time that is not over, are left out.")
        }
        if let changes = answer.changes {
            lines += changes.isEmpty ? ["Requests, errors and latency are within 10 % of the period before."] : changes.map(Self.sentence)
        }
        return lines
    }

    private var headline: [String] {
        let total = answer.total
        let ends = [answer.from, answer.to].map { UserTime.text($0) }.joined(separator: " to ")
        let rate = Self.percent(total.requests == 0 ? 0 : Double(total.errors) / Double(total.requests))
        let latency = [("p50", total.p50), ("p95", total.p95), ("p99", total.p99)].compactMap { name, value in
            value.map { "\(name) \(Self.short($0)) ms" }
        }
        let users = total.users.map { ["users: \($0)"] } ?? []
        return [ends, (["requests: \(total.requests)", "errors: \(total.errors) (\(rate))"] + latency + users).joined(separator: ", ")]
    }

    /// Bars that stand side by side, one for each part of the period, as wide as the terminal allows.
    private var chart: [String] {
        let counts = merged
        guard let most = counts.max(), most > 0 else { return [] }
        let columnWidth = max(1, min(4, (width - 1) / counts.count))
        let levels = hasBlocks ? Array(" ▁▂▃▄▅▆▇█") : Array(" #")
        let steps = levels.count - 1
        let heights = counts.map { count in count == 0 ? 0 : max(1, Int((Double(count) / Double(most) * Double(Self.rows * steps)).rounded())) }
        let bars = (0..<Self.rows).reversed().map { row in
            heights.map { String(repeating: levels[min(max($0 - row * steps, 0), steps)], count: columnWidth) }.joined()
        }
        return ["highest bar: \(most) requests"] + bars.map { String($0.reversed().drop { $0 == " " }.reversed()) }
            + [String(repeating: hasBlocks ? "─" : "-", count: columnWidth * counts.count)]
    }

    /// The requests of each bar; of several neighbours together where the terminal is narrower than the bars.
    private var merged: [Int64] {
        let counts = answer.bars.map(\.requests)
        let each = max(1, (counts.count + max(width - 2, 0)) / max(width - 1, 1))
        return stride(from: 0, to: counts.count, by: each).map { counts[$0..<min($0 + each, counts.count)].reduce(0, +) }
    }

    private var table: [String] { RowOutput.table(answer.lines.map(TelemetryTable.cells)).map { String($0.prefix(max(width, 20))) } }

    private static func sentence(_ change: AdminMessages.TelemetryChange) -> String {
        let (name, unit) =
            switch change.figure {
            case "requests": ("Requests", "")
            case "errorRate": ("Errors for each request", "")
            default: ("The mean time of a request", " ms")
            }
        let verb = change.after > change.before ? "rose" : "fell"
        let causes = change.causes.map {
            "\($0.property) \(Output.withoutControls($0.name)) makes \(percent($0.share)) of it (\(short($0.before)) to \(short($0.after)))"
        }
        return "\(name) \(verb) from \(short(change.before)) to \(short(change.after))\(unit)"
            + (causes.isEmpty ? "." : ": " + causes.joined(separator: ", ") + ".")
    }

    private static func percent(_ part: Double) -> String { "\(short(part * 100)) %" }

    /// Returns a number with three digits that count.
    private static func short(_ value: Double) -> String {
        let digits = value.magnitude >= 100 ? 0 : value.magnitude >= 10 ? 1 : value.magnitude >= 1 ? 2 : 3
        let text = String(format: "%.\(digits)f", value)
        return text.contains(".") ? String(text.reversed().drop { $0 == "0" }.drop { $0 == "." }.reversed()) : text
    }
}
