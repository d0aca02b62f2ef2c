import NacreCloudServer

/// The web service that sends text messages, as options of `nacre serve`.
enum TextOptions {
    private static let webhook = Option.value(
        "sms-webhook", "url", "Send text messages by a POST to this https URL, with a JSON object of to and text. Users verify phone numbers so.")
    private static let tokenFile = Option.value("sms-token-file", "file", "The file with the bearer token for that URL.")

    static let all = [webhook, tokenFile]

    /// Returns the configuration; nil where no service is given.
    static func configuration(_ call: Call) throws -> TextConfiguration? {
        guard let url = call.value(webhook) else {
            if call.isSet(tokenFile) {
                throw UsageError(.invalid("--\(tokenFile.name)", "give --\(webhook.name) with it"), path: call.path)
            }
            return nil
        }
        guard let configuration = TextConfiguration(url: url, token: try call.value(tokenFile).map(TextFile.secret)) else {
            throw UsageError(.invalid("--\(webhook.name)", "give an https URL; http is for this machine alone"), path: call.path)
        }
        return configuration
    }
}
