package import NacreCloudWire

extension SubscriptionsResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("subscriptions", subscriptions) { $1.write(to: &$0, form: form) }
        writer.endObject()
    }
}

extension SubscriptionResult {
    fileprivate func write(to writer: inout JSONWriter, form: AnswerForm) {
        switch self {
        case .subscription(let subscription):
            subscription.write(
                to: &writer, form: ValueForm(details: form.details, numbersAsStrings: form.numbersAsStrings, isAnswer: true))
        case .deleted(let subscriptionID):
            writer.beginObject()
            writer.write("subscriptionID", subscriptionID)
            writer.write("deleted", true)
            writer.endObject()
        case .failure(let subscriptionID, let error):
            writer.beginObject()
            writer.write("subscriptionID", subscriptionID)
            error.writeMembers(to: &writer, form: form)
            writer.endObject()
        }
    }
}

extension TokensCreateResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.write("apnsEnvironment", apnsEnvironment.rawValue)
        writer.write("apnsToken", apnsToken)
        writer.write("webcourierURL", webcourierURL)
        writer.endObject()
    }
}

extension TokensRegisterResponse: WritableAnswer {
    package func write(to writer: inout JSONWriter, form: AnswerForm) {
        writer.beginObject()
        writer.endObject()
    }
}
