/// The position of a check. Callers pass it back and need not understand it.
package struct CheckCursor: Hashable, Sendable {
    package var table: KeptTable
    /// The last row that was checked; nil: the table as a whole comes first, and then its rows.
    package var row: RowKey?

    package static let start = CheckCursor(table: .databases, row: nil)

    package init(table: KeptTable, row: RowKey?) {
        self.table = table
        self.row = row
    }

    /// The table after this one; nil: this was the last.
    package var nextTable: CheckCursor? {
        KeptTable.allCases.first { $0.rawValue > table.rawValue }.map { CheckCursor(table: $0, row: nil) }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(table.rawValue)
        for part in row?.parts ?? [] {
            switch part {
            case .number(let number):
                writer.byte(1)
                writer.signed(number)
            case .text(let text):
                writer.byte(2)
                writer.string(text)
            case .bytes(let bytes):
                writer.byte(3)
                writer.block(bytes)
            }
        }
        return writer.bytes
    }

    /// Reads a position that `bytes` made; nil for any other bytes.
    package init?(_ bytes: [UInt8]) {
        do {
            var reader = ByteReader(bytes)
            guard let table = KeptTable(rawValue: try reader.byte()) else { return nil }
            var parts: [RowKey.Part] = []
            while !reader.isAtEnd {
                switch try reader.byte() {
                case 1: parts.append(.number(try reader.signed()))
                case 2: parts.append(.text(try reader.string()))
                case 3: parts.append(.bytes(try reader.block()))
                default: return nil
                }
            }
            guard parts.isEmpty || RowKey(parts).isOf(table) else { return nil }
            self.init(table: table, row: parts.isEmpty ? nil : RowKey(parts))
        } catch {
            return nil
        }
    }
}

extension RowKey {
    /// Returns a key before every key of the table.
    package static func start(of table: KeptTable) -> RowKey {
        let number = Part.number(.min)
        return switch table {
        case .databases: RowKey([number])
        case .zones: RowKey([number, number])
        case .records, .entries, .tasks: RowKey([number, number, .text("")])
        case .feed: RowKey([number, number, number, number, number, .text("")])
        case .links: RowKey([number, number, .text(""), number, .text("")])
        case .index: RowKey([number, number, number, .bytes([]), .text("")])
        case .operations: RowKey([number, .text("")])
        }
    }

    /// Returns a key before every row of a zone, in a table whose keys begin with a zone.
    package static func start(of table: KeptTable, in zone: ZoneAddress) -> RowKey {
        var place = start(of: table)
        place.parts[0] = .number(zone.database.rawValue)
        place.parts[1] = .number(zone.zone)
        return place
    }

    /// Whether the parts are those of a key of the table.
    fileprivate func isOf(_ table: KeptTable) -> Bool {
        func kinds(_ place: RowKey) -> [Int] {
            place.parts.map { part in
                switch part {
                case .number: 1
                case .text: 2
                case .bytes: 3
                }
            }
        }
        return kinds(self) == kinds(.start(of: table))
    }

    package var database: DatabaseID? {
        if case .number(let id)? = parts.first { DatabaseID(rawValue: id) } else { nil }
    }
}
