package import NacreCloudWire

extension KeysAppendResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("place", Int64(place))
        writer.endObject()
    }
}

extension KeysLogResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("statements", forms: statements)
        if let wraps { writer.write("wraps", forms: wraps) }
        if let olderKeys { writer.write("olderKeys", forms: olderKeys) }
        writer.write("moreComing", moreComing)
        writer.endObject()
    }
}
