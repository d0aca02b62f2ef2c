import CloudWire
extension RecordFields { var valueBytes: Int { 0 } }
