import NacreCloudWire
import Testing

@Suite struct PhoneNumberTests {
    @Test(
        arguments: [
            ("+49301234567", "+49301234567"), ("+49 (30) 123-45/67", "+49301234567"), ("0049 30 1234567", "+49301234567"),
            ("+1.202.555.0123", "+12025550123"),
            ("+49\u{A0}30 1234567", "+49301234567"), ("+123456789012345", "+123456789012345"),
            // Numbers without a country.
            ("030 1234567", nil), ("1234567", nil), ("", nil), ("+", nil), ("00", nil),
            // Too short, too long, or without a country.
            ("+44 20", nil), ("+1234567890123456", nil), ("+0301234567", nil), ("00 0301234567", nil),
            ("+49 30 1234567 ext 5", nil), ("+49+301234567", nil), ("4+9301234567", nil), ("+٤٩٣٠١٢٣٤٥٦٧", nil), ("+49301234567\n", nil),
            (String(repeating: " ", count: 70) + "+49301234567", nil),
        ] as [(String, String?)])
    func `a number is written with its country, however people write it`(text: String, number: String?) {
        #expect(PhoneNumber.normalised(text) == number)
        if let number { #expect(PhoneNumber.normalised(number) == number) }
    }
}
