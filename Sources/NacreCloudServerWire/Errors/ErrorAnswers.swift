package import NacreCloudWire

extension ErrorResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("uuid", uuid)
        error.writeMembers(to: &writer, form: form)
        writer.endObject()
    }
}

extension ServerError {
    /// Writes the error's members into the object that was begun, after the members that name the item.
    func writeMembers(to writer: inout JSONWriter, form: AnswerForm) {
        writer.write("serverErrorCode", code.rawValue)
        writer.write("reason", reason)
        writer.write(ifPresent: "retryAfter", retryAfter)
        writer.write(ifPresent: "redirectURL", redirectURL)
        guard form.details else { return }
        writer.key("nacre")
        writer.beginObject()
        writer.write("code", Int64(nativeCode))
        writer.write(ifPresent: "internalCode", internalCode)
        writer.write(ifPresent: "field", field)
        writer.write(ifPresent: "remedy", remedy)
        if let record = serverRecord?.value {
            writer.key("serverRecord")
            // The record stands alone and names its own zone.
            record.write(to: &writer, form: form, zoneID: record.zoneID)
        }
        writer.endObject()
    }
}
