package import NacreCloudWire

extension ZonesResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("zones", zones) { $1.write(to: &$0, form: form) }
        writer.endObject()
    }
}

extension ZoneResult {
    func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        switch self {
        case .zone(let zone):
            writer.write("zoneID", zone.zoneID, asAnswer: true)
            writer.write(ifPresent: "syncToken", zone.syncToken)
            writer.write("atomic", zone.atomic)
            if form.details, zone.isSharedWhole {
                writer.key("nacre")
                writer.beginObject()
                writer.write("zoneWideShare", true)
                writer.endObject()
            }
        case .deleted(let zoneID):
            writer.write("zoneID", zoneID, asAnswer: true)
            writer.write("deleted", true)
        case .failure(let zoneID, let error):
            writer.write("zoneID", zoneID, asAnswer: true)
            error.writeMembers(to: &writer, form: form)
        }
        writer.endObject()
    }
}
