extension RecordOperation {
    /// Writes the operation.
    /// - Parameter details: Whether times are sent exactly.
    func write(to writer: inout JSONWriter, details: Bool) {
        writer.beginObject()
        writer.write("operationType", type.rawValue)
        writer.key("record")
        change.write(to: &writer, details: details)
        writer.write(ifPresent: "desiredKeys", desiredKeys)
        writer.endObject()
    }
}

extension RecordChange {
    fileprivate func write(to writer: inout JSONWriter, details: Bool) {
        writer.beginObject()
        writer.write(ifPresent: "recordName", recordName)
        writer.write(ifPresent: "recordType", recordType)
        writer.write(ifPresent: "recordChangeTag", recordChangeTag)
        if !set.isEmpty || !cleared.isEmpty { writeFields(to: &writer, details: details) }
        if case .set(let reference) = parent {
            writer.key("parent")
            reference.writeLink(to: &writer, asAnswer: false)
        }
        if wantsShortGUID { writer.write("createShortGUID", true) }
        sharing?.value.writeMembers(to: &writer)
        if parent == .clear || carriesAllKeys || manifest != nil || sharing?.value.hasExtension == true {
            writer.key("nacre")
            writer.beginObject()
            sharing?.value.writeExtension(to: &writer)
            if parent == .clear { writer.write("clearsParent", true) }
            if carriesAllKeys { writer.write("allKeys", true) }
            writer.write(ifPresent: "manifest", base64: manifest?.bytes)
            writer.write(ifPresent: "base", base64: manifest?.base)
            writer.endObject()
        }
        writer.endObject()
    }

    private func writeFields(to writer: inout JSONWriter, details: Bool) {
        let form = ValueForm(details: details, numbersAsStrings: false)
        writer.key("fields")
        writer.beginObject()
        for field in set.entries {
            writer.key(field.name)
            field.value.write(to: &writer, form: form)
        }
        for name in cleared {
            writer.key(name)
            writer.beginObject()
            writer.key("value")
            writer.null()
            writer.endObject()
        }
        writer.endObject()
    }
}
