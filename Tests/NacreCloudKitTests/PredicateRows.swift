import CoreLocation
import Foundation

@testable import CloudKit

/// Formats that CloudKit takes.
enum PredicateRows {
    private static let place = CLLocation(latitude: 50, longitude: 10)
    private static let date = Date(timeIntervalSinceReferenceDate: 12.5)
    private static let recordID = CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Z"))
    private static let record = CKRecord(recordType: "T", recordID: recordID)
    private static let reference = CKRecord.Reference(recordID: recordID, action: .deleteSelf)

    static let all = comparisons + literals + arguments + systemFields + lists + words + places + compounds + keys

    private static let comparisons: [PredicateRow] = [
        .gives("TRUEPREDICATE"),
        .gives("truepredicate"),
        .nothing("FALSEPREDICATE"),
        .gives("a = 1", filters: "a EQUALS 1"),
        .gives("a == 1", filters: "a EQUALS 1"),
        .gives("a=1", filters: "a EQUALS 1"),
        .gives("a != 1", filters: "a NOT_EQUALS 1"),
        .gives("a <> 1", filters: "a NOT_EQUALS 1"),
        .gives("a < 1", filters: "a LESS_THAN 1"),
        .gives("a <= 1", filters: "a LESS_THAN_OR_EQUALS 1"),
        .gives("a =< 1", filters: "a LESS_THAN_OR_EQUALS 1"),
        .gives("a > 1", filters: "a GREATER_THAN 1"),
        .gives("a >= 1", filters: "a GREATER_THAN_OR_EQUALS 1"),
        .gives("a => 1", filters: "a GREATER_THAN_OR_EQUALS 1"),
        .gives("1 = a", filters: "a EQUALS 1"),
        .gives("1 != a", filters: "a NOT_EQUALS 1"),
        .gives("1 < a", filters: "a GREATER_THAN 1"),
        .gives("1 <= a", filters: "a GREATER_THAN_OR_EQUALS 1"),
        .gives("1 > a", filters: "a LESS_THAN 1"),
        .gives("1 >= a", filters: "a LESS_THAN_OR_EQUALS 1"),
        .gives("a BETWEEN {1, 5}", filters: "a GREATER_THAN_OR_EQUALS 1", "a LESS_THAN_OR_EQUALS 5"),
        .gives("a between %@", [1, 5], filters: "a GREATER_THAN_OR_EQUALS 1", "a LESS_THAN_OR_EQUALS 5"),
        .gives("a BETWEEN {%d, %f}", 1, 5.5, filters: "a GREATER_THAN_OR_EQUALS 1", "a LESS_THAN_OR_EQUALS 5.5"),
        .gives("name BEGINSWITH 'A'", filters: "name BEGINS_WITH 'A'"),
        .gives("name beginswith %@", "A", filters: "name BEGINS_WITH 'A'"),
        .gives("NOT name BEGINSWITH 'A'", filters: "name NOT_BEGINS_WITH 'A'"),
    ]

    private static let literals: [PredicateRow] = [
        .gives("a = 'x'", filters: "a EQUALS 'x'"),
        .gives("a = \"x\"", filters: "a EQUALS 'x'"),
        .gives("a = ''", filters: "a EQUALS ''"),
        .gives(#"a = 'it\'s'"#, filters: "a EQUALS 'it's'"),
        .gives(#"a = "say \"hi\"""#, filters: "a EQUALS 'say \"hi\"'"),
        .gives(#"a = 'a\\b\n\t\r'"#, filters: "a EQUALS 'a\\b\n\t\r'"),
        .gives(#"a = '\u00e9\x41'"#, filters: "a EQUALS 'éA'"),
        .gives("a = '語 👩‍👩‍👧 é'", filters: "a EQUALS '語 👩‍👩‍👧 é'"),
        .gives("a = 'AND OR %@ %% (NOT'", filters: "a EQUALS 'AND OR %@ %% (NOT'"),
        .gives("a = -1", filters: "a EQUALS -1"),
        .gives("a = -9223372036854775808", filters: "a EQUALS -9223372036854775808"),
        .gives("a = 9223372036854775807", filters: "a EQUALS 9223372036854775807"),
        .gives("a = 0x1F", filters: "a EQUALS 31"),
        .gives("a = 0XfF", filters: "a EQUALS 255"),
        .gives("a = 0b101", filters: "a EQUALS 5"),
        .gives("a = 0o17", filters: "a EQUALS 15"),
        .gives("a = 1.5", filters: "a EQUALS 1.5"),
        .gives("a = .5", filters: "a EQUALS 0.5"),
        .gives("a = -2.25", filters: "a EQUALS -2.25"),
        .gives("a = 1e3", filters: "a EQUALS 1000.0"),
        .gives("a = 1.5E-3", filters: "a EQUALS 0.0015"),
        .gives("a = TRUE", filters: "a EQUALS 1"),
        .gives("a = yes", filters: "a EQUALS 1"),
        .gives("a = FALSE", filters: "a EQUALS 0"),
        .gives("a = No", filters: "a EQUALS 0"),
        .gives("a > now()", filters: "a GREATER_THAN t7777.0"),
        .gives("a > CAST(12.5, 'NSDate')", filters: "a GREATER_THAN t12.5"),
    ]

    private static let arguments: [PredicateRow] = [
        .gives("a = %@", "x", filters: "a EQUALS 'x'"),
        .gives("a = %@", "x" as NSString, filters: "a EQUALS 'x'"),
        .gives("a = %@", 5, filters: "a EQUALS 5"),
        .gives("a = %@", 5 as NSNumber, filters: "a EQUALS 5"),
        .gives("a = %@", 5.5 as NSNumber, filters: "a EQUALS 5.5"),
        .gives("a = %@", true, filters: "a EQUALS 1"),
        .gives("a = %@", NSNumber(value: false), filters: "a EQUALS 0"),
        .gives("a = %@", Float(1.5), filters: "a EQUALS 1.5"),
        .gives("a = %@", UInt8(9), filters: "a EQUALS 9"),
        .gives("a = %@", Optional("x"), filters: "a EQUALS 'x'"),
        .gives("a > %@", date, filters: "a GREATER_THAN t12.5"),
        .gives("a > %@", date as NSDate, filters: "a GREATER_THAN t12.5"),
        .gives("a = %@", Data([1, 2, 3]), filters: "a EQUALS 3 bytes"),
        .gives("a = %@", Data([1, 2, 3]) as NSData, filters: "a EQUALS 3 bytes"),
        .gives("a = %@", reference, filters: "a EQUALS ->r"),
        .gives("a = %@", record, filters: "a EQUALS ->r"),
        .gives("a = %@", recordID, filters: "a EQUALS ->r"),
        .gives("a = %d", 7, filters: "a EQUALS 7"),
        .gives("a = %i AND b = %D", 7, 8, filters: "a EQUALS 7", "b EQUALS 8"),
        .gives("a = %ld AND b = %lld", 7, Int64.max, filters: "a EQUALS 7", "b EQUALS 9223372036854775807"),
        .gives("a = %u AND b = %lu AND c = %llu", UInt32(7), UInt(8), UInt64(9), filters: "a EQUALS 7", "b EQUALS 8", "c EQUALS 9"),
        .gives("a = %zd AND b = %hi AND c = %x", 7, Int16(8), 9, filters: "a EQUALS 7", "b EQUALS 8", "c EQUALS 9"),
        .gives("a = %f AND b = %g AND c = %lf", 7.5, 8, Float(9), filters: "a EQUALS 7.5", "b EQUALS 8.0", "c EQUALS 9.0"),
        .gives("a = %d", 7.9, filters: "a EQUALS 7"),
        .gives("a = %f AND b = %@ AND c = %d", CGFloat(7.5), CGFloat(8), CGFloat(9), filters: "a EQUALS 7.5", "b EQUALS 8.0", "c EQUALS 9"),
        .gives(
            "a = %.2f AND b = %5.1f AND c = %-05d AND d = %+.3Lf", 1.234, 2.25, 3, 4.5, filters: "a EQUALS 1.234", "b EQUALS 2.25", "c EQUALS 3",
            "d EQUALS 4.5"),
        .gives("a = %s AND b = %s", "x", "y" as NSString, filters: "a EQUALS 'x'", "b EQUALS 'y'"),
        .gives("a = %2$@ AND %1$K = %2$@", "b", "x", filters: "a EQUALS 'x'", "b EQUALS 'x'"),
        .gives("a = %2$d AND b = %@ AND c = %.1f", 1, 2.5, filters: "a EQUALS 2", "b EQUALS 1", "c EQUALS 2.5"),
        .gives("%K = %@", "title", "x", filters: "title EQUALS 'x'"),
        .gives("%K > %d AND %K < %d", "a", 1, "b", 2, filters: "a GREATER_THAN 1", "b LESS_THAN 2"),
        .gives("a = %@", "1 OR TRUEPREDICATE", filters: "a EQUALS '1 OR TRUEPREDICATE'"),
        .gives("%K IN %@", "and", [1], filters: "and IN [1]"),
        .gives("count IN {1, 2, 1}", filters: "count IN [1, 2]"),
        .gives("ANY tags IN {'a', 'b', 'a'}", filters: "tags LIST_CONTAINS_ANY ['a', 'b']"),
        .gives("a = %@ ", "x", "more than needed", filters: "a EQUALS 'x'"),
    ]

    private static let systemFields: [PredicateRow] = [
        .gives("recordID = %@", recordID, filters: "___recordID EQUALS ->r"),
        .gives("recordID = %@", reference, filters: "___recordID EQUALS ->r"),
        .gives("recordID IN %@", [recordID, CKRecord.ID(recordName: "s")], filters: "___recordID IN ->r,s"),
        .gives("recordID != %@", record, filters: "___recordID NOT_EQUALS ->r"),
        .gives("creationDate > %@", date, filters: "___createTime GREATER_THAN t12.5"),
        .gives("modificationDate <= %@", date, filters: "___modTime LESS_THAN_OR_EQUALS t12.5"),
        .gives("creatorUserRecordID = %@", recordID, filters: "___createdBy EQUALS ->r"),
        .gives("lastModifiedUserRecordID = %@", recordID, filters: "___modifiedBy EQUALS ->r"),
        .gives("parent = %@", reference, filters: "___parent EQUALS ->r"),
        .gives("share = %@", reference, filters: "___share EQUALS ->r"),
        .gives("___createTime < now()", filters: "___createTime LESS_THAN t7777.0"),
        .gives("%K = %@", CKRecord.SystemFieldKey.recordID, record, filters: "___recordID EQUALS ->r"),
    ]

    private static let lists: [PredicateRow] = [
        .gives("a IN {1, 2, 3}", filters: "a IN [1, 2, 3]"),
        .gives("a in {'x', \"y\"}", filters: "a IN ['x', 'y']"),
        .gives("a IN {1, 2.5}", filters: "a IN [1.0, 2.5]"),
        .gives("a IN {}", filters: "a IN []"),
        .gives("a IN %@", ["x", "y"], filters: "a IN ['x', 'y']"),
        .gives("a IN %@", ["x"] as NSArray, filters: "a IN ['x']"),
        .gives("a IN %@", Set(["x"]), filters: "a IN ['x']"),
        .gives("a IN %@", NSSet(array: [4]), filters: "a IN [4]"),
        .gives("a IN %@", [date], filters: "a IN t[12.5]"),
        .gives("a IN %@", [Data([1])], filters: "a IN [1] bytes"),
        .gives("a IN %@", [record, record], filters: "a IN ->r"),
        .gives("a IN %@", [String](), filters: "a IN []"),
        .gives("NOT (a IN {1})", filters: "a NOT_IN [1]"),
        .gives("NOT a IN {1}", filters: "a NOT_IN [1]"),
        .gives("'x' IN tags", filters: "tags LIST_CONTAINS 'x'"),
        .gives("%@ IN tags", "x", filters: "tags LIST_CONTAINS 'x'"),
        .gives("NOT %@ IN tags", "x", filters: "tags NOT_LIST_CONTAINS 'x'"),
        .gives("tags CONTAINS 'x'", filters: "tags LIST_CONTAINS 'x'"),
        .gives("tags contains %@", reference, filters: "tags LIST_CONTAINS ->r"),
        .gives("NOT (tags CONTAINS 5)", filters: "tags NOT_LIST_CONTAINS 5"),
        .gives("ANY tags = 'x'", filters: "tags LIST_CONTAINS 'x'"),
        .gives("SOME tags == 'x'", filters: "tags LIST_CONTAINS 'x'"),
        .gives("NONE tags = 'x'", filters: "tags NOT_LIST_CONTAINS 'x'"),
        .gives("NOT NONE tags = 'x'", filters: "tags LIST_CONTAINS 'x'"),
        .gives("ANY tags IN {'x', 'y'}", filters: "tags LIST_CONTAINS_ANY ['x', 'y']"),
        .gives("any tags in %@", [1, 2], filters: "tags LIST_CONTAINS_ANY [1, 2]"),
        .gives("NOT ANY tags IN {'x'}", filters: "tags NOT_LIST_CONTAINS_ANY ['x']"),
        .gives("ANY {'x', 'y'} IN tags", filters: "tags LIST_CONTAINS_ANY ['x', 'y']"),
        .gives("ANY tags CONTAINS 'x'", filters: "tags LIST_CONTAINS 'x'"),
        .gives("ANY tags CONTAINS {'x'}", filters: "tags LIST_CONTAINS_ANY ['x']"),
        .gives("ANY tags BEGINSWITH 'x'", filters: "tags LIST_MEMBER_BEGINS_WITH 'x'"),
        .gives("NOT ANY tags BEGINSWITH 'x'", filters: "tags NOT_LIST_MEMBER_BEGINS_WITH 'x'"),
        .gives("tags = {1, 2}", filters: "tags EQUALS [1, 2]"),
    ]

    private static let words: [PredicateRow] = [
        .gives("self CONTAINS 'after session'", filters: "* CONTAINS_ALL_TOKENS 'after session'"),
        .gives("SELF contains %@", "x", filters: "* CONTAINS_ALL_TOKENS 'x'"),
        .gives("self CONTAINS[cd] 'x'", filters: "* CONTAINS_ALL_TOKENS 'x'"),
        .gives("%K CONTAINS %@", "self", "x", filters: "* CONTAINS_ALL_TOKENS 'x'"),
        .gives("allTokens TOKENMATCHES[cdl] 'a b'", filters: "* CONTAINS_ALL_TOKENS 'a b'"),
        .gives("allTokens tokenmatches[cdl] %@", "a b", filters: "* CONTAINS_ALL_TOKENS 'a b'"),
        .gives("self TOKENMATCHES 'x'", filters: "* CONTAINS_ALL_TOKENS 'x'"),
        .gives("title TOKENMATCHES[cdl] 'x'", filters: "title CONTAINS_ALL_TOKENS 'x'"),
        .gives("ALL tokenize(%@, 'Cdl') IN allTokens", "a b", filters: "* CONTAINS_ALL_TOKENS 'a b'"),
        .gives("ANY tokenize(%@, 'Cdl') IN allTokens", "a b", filters: "* CONTAINS_ANY_TOKENS 'a b'"),
        .gives("ALL tokenize:using:('a b', 'Cdl') IN allTokens", filters: "* CONTAINS_ALL_TOKENS 'a b'"),
        .gives("self CONTAINS tokenize:using:('a b', 'Cdl')", filters: "* CONTAINS_ALL_TOKENS 'a b'"),
        .gives("self CONTAINS 'a' AND self CONTAINS 'b'", filters: "* CONTAINS_ALL_TOKENS 'a'", "* CONTAINS_ALL_TOKENS 'b'"),
    ]

    private static let places: [PredicateRow] = [
        .gives("distanceToLocation:fromLocation:(at, %@) < 1000", place, filters: "at NEAR (50.0, 10.0) within 1000.0"),
        .gives("distanceToLocation:fromLocation:(at, %@) < %f", place, 2.5, filters: "at NEAR (50.0, 10.0) within 2.5"),
        .gives("distanceToLocation:fromLocation:(%K,%@) <= %@", "at", place, 9 as NSNumber, filters: "at NEAR (50.0, 10.0) within 9.0"),
        .gives("distanceToLocation:fromLocation:(%@, at) =< 5", place, filters: "at NEAR (50.0, 10.0) within 5.0"),
        .gives("1000 > distanceToLocation:fromLocation:(at, %@)", place, filters: "at NEAR (50.0, 10.0) within 1000.0"),
        .gives(
            "a = 1 AND distanceToLocation:fromLocation:(at, %@) < 1000", place, filters: "a EQUALS 1", "at NEAR (50.0, 10.0) within 1000.0"),
    ]

    private static let compounds: [PredicateRow] = [
        .gives("a = 1 AND b = 2", filters: "a EQUALS 1", "b EQUALS 2"),
        .gives("a = 1 && b = 2 and c = 3", filters: "a EQUALS 1", "b EQUALS 2", "c EQUALS 3"),
        .gives("(a = 1)", filters: "a EQUALS 1"),
        .gives("((a = 1) AND (b = 2 AND (c = 3)))", filters: "a EQUALS 1", "b EQUALS 2", "c EQUALS 3"),
        .gives("(a) = (1)", filters: "a EQUALS 1"),
        .gives("(a) = 1 AND ((b)) = ((2))", filters: "a EQUALS 1", "b EQUALS 2"),
        .gives("a = 1 AND TRUEPREDICATE", filters: "a EQUALS 1"),
        .nothing("a = 1 AND FALSEPREDICATE"),
        .nothing("NOT TRUEPREDICATE"),
        .gives("NOT FALSEPREDICATE"),
        .gives("NOT a = 1", filters: "a NOT_EQUALS 1"),
        .gives("!(a = 1)", filters: "a NOT_EQUALS 1"),
        .gives("NOT a != 1", filters: "a EQUALS 1"),
        .gives("NOT a < 1", filters: "a GREATER_THAN_OR_EQUALS 1"),
        .gives("NOT a <= 1", filters: "a GREATER_THAN 1"),
        .gives("NOT a > 1", filters: "a LESS_THAN_OR_EQUALS 1"),
        .gives("NOT a >= 1", filters: "a LESS_THAN 1"),
        .gives("NOT NOT a = 1", filters: "a EQUALS 1"),
        .gives("NOT a = 1 AND b = 2", filters: "a NOT_EQUALS 1", "b EQUALS 2"),
        .gives("\n\ta = 1\r\n AND\tb = 2 ", filters: "a EQUALS 1", "b EQUALS 2"),
    ]

    private static let keys: [PredicateRow] = [
        .gives("#and = 1", filters: "and EQUALS 1"),
        .gives("#self = 1 AND #IN = 2", filters: "self EQUALS 1", "IN EQUALS 2"),
        .gives("android = 1 AND notes = 2 AND inner = 3", filters: "android EQUALS 1", "notes EQUALS 2", "inner EQUALS 3"),
        .gives("size = 1 AND first = 2", filters: "size EQUALS 1", "first EQUALS 2"),
        .gives("a1_B = 1", filters: "a1_B EQUALS 1"),
        .gives("recordName = 'x'", filters: "recordName EQUALS 'x'"),
    ]
}
