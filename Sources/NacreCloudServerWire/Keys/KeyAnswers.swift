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
        if let tree {
            writer.key("tree")
            writer.beginObject()
            writer.write(ifPresent: "head", base64: tree.head)
            writer.write(ifPresent: "serverKey", base64: tree.serverKey)
            writer.write(ifPresent: "index", tree.index)
            if let inclusion = tree.inclusion { writer.write("inclusion", forms: inclusion) }
            if let consistency = tree.consistency { writer.write("consistency", forms: consistency) }
            writer.endObject()
        }
        writer.endObject()
    }
}
