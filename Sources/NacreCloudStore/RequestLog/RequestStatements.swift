/// Statements of one part of the request log. Texts that rows repeat stand once in `texts`, and rows have their
/// numbers.
extension Statement {
    /// "NcLg" as a number: marks a file as a part of the log.
    static let requestLogID = "1315130471"

    static let requestTables = [
        Statement(
            """
            CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)
            """),
        Statement(
            """
            CREATE TABLE requests(number INTEGER PRIMARY KEY, ended INTEGER NOT NULL, status INTEGER NOT NULL, took INTEGER NOT NULL,
                container INTEGER NOT NULL, environment INTEGER NOT NULL, db INTEGER NOT NULL, zone INTEGER NOT NULL, user INTEGER NOT NULL,
                operation INTEGER NOT NULL, client INTEGER NOT NULL, code INTEGER NOT NULL, id BLOB NOT NULL, waited INTEGER NOT NULL,
                stored INTEGER NOT NULL, encoded INTEGER NOT NULL, bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, asked INTEGER NOT NULL,
                answered INTEGER NOT NULL, refused INTEGER NOT NULL, operation_id BLOB NOT NULL, group_id BLOB NOT NULL,
                group_name INTEGER NOT NULL, field INTEGER NOT NULL, reason INTEGER NOT NULL, remedy INTEGER NOT NULL, way INTEGER NOT NULL, telling BLOB NOT NULL)
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
    static let requestSpan = Statement("SELECT max(number), min(ended), max(ended) FROM requests")
    static let textNumber = Statement("SELECT id FROM texts WHERE text = ?1")
    static let textNumbersOfKind = Statement("SELECT id FROM texts WHERE text = ?1 OR substr(text, 1, length(?1) + 1) = ?1 || ' '")
    static let textOfNumber = Statement("SELECT text FROM texts WHERE id = ?1")
    static let addText = Statement("INSERT INTO texts(text) VALUES(?1) RETURNING id")

    static let addRequest = Statement(
        """
        INSERT INTO requests VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
            ?24, ?25, ?26, ?27, ?28, ?29)
        """)
    static let addTrace = Statement(
        "INSERT INTO traces(telling, notification, time, subscription, user, device, event) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")
    static let tracesOfTask = Statement(
        "SELECT telling, notification, time, subscription, user, device, event FROM traces WHERE telling = ?1 ORDER BY number LIMIT 1000")
    static let tracesOfNotification = Statement(
        "SELECT telling, notification, time, subscription, user, device, event FROM traces WHERE notification = ?1 ORDER BY number LIMIT 1000")
    static let notificationIndex = Statement("CREATE INDEX traces_by_notification ON traces(notification)")
}
