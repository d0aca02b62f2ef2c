package import NacreCloudWire

extension UserIdentity: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("userRecordName", userRecordName)
        writer.endObject()
    }
}
