/// Statements of one part of the request log. Texts that rows repeat stand once in `texts`, and rows have their
/// numbers.
extension Statement {
    static let requestTables = [
        Statement(
            """
            CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)
            """),
        // A block of rows (`RequestBlock`) with the numbers of its first and last row, and its oldest and newest time.
        Statement(
            """
            CREATE TABLE requests(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, oldest INTEGER NOT NULL, newest INTEGER NOT NULL,
                bytes BLOB NOT NULL)
            """),
        Statement(
            """
            CREATE TABLE traces(number INTEGER PRIMARY KEY, telling BLOB NOT NULL, notification BLOB NOT NULL, time INTEGER NOT NULL,
                subscription INTEGER NOT NULL, user INTEGER NOT NULL, device INTEGER NOT NULL, event INTEGER NOT NULL)
            """),
        notificationIndex,
        Statement("CREATE TABLE about(server TEXT NOT NULL, first INTEGER NOT NULL)"),
    ]

    static let addAboutRequests = Statement("INSERT INTO about VALUES(?1, ?2)")
    static let aboutRequests = Statement("SELECT server, first FROM about")
    static let requestSpan = Statement("SELECT max(last), min(oldest), max(newest) FROM requests")
    static let textNumber = Statement("SELECT id FROM texts WHERE text = ?1")
    static let textNumbersOfKind = Statement("SELECT id FROM texts WHERE text = ?1 OR substr(text, 1, length(?1) + 1) = ?1 || ' '")
    static let textOfNumber = Statement("SELECT text FROM texts WHERE id = ?1")
    static let addText = Statement("INSERT INTO texts(text) VALUES(?1) RETURNING id")

    static let putRequests = Statement("INSERT OR REPLACE INTO requests VALUES(?1, ?2, ?3, ?4, ?5)")
    static let newestRequests = Statement(
        "SELECT first, bytes FROM requests WHERE last >= ?1 AND first < ?2 AND newest >= ?3 AND oldest <= ?4 ORDER BY first DESC")
    static let oldestRequests = Statement(
        "SELECT first, bytes FROM requests WHERE last >= ?1 AND first < ?2 AND newest >= ?3 AND oldest <= ?4 ORDER BY first")
    static let addTrace = Statement(
        "INSERT INTO traces(telling, notification, time, subscription, user, device, event) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")
    static let tracesOfTask = Statement(
        "SELECT telling, notification, time, subscription, user, device, event FROM traces WHERE telling = ?1 ORDER BY number LIMIT 1000")
    static let tracesOfNotification = Statement(
        "SELECT telling, notification, time, subscription, user, device, event FROM traces WHERE notification = ?1 ORDER BY number LIMIT 1000")
    static let notificationIndex = Statement("CREATE INDEX traces_by_notification ON traces(notification)")
}
