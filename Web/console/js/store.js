/// What several parts of the console know together.

/// A value that tells its subscribers when it changes.
export function signal(value) {
    const subscribers = new Set();
    return {
        get: () => value,
        set(next) {
            if (Object.is(next, value)) return;
            value = next;
            for (const subscriber of [...subscribers]) subscriber(value);
        },
        /// Returns the function that ends the subscription.
        subscribe(subscriber) {
            subscribers.add(subscriber);
            return () => subscribers.delete(subscriber);
        },
    };
}

/// A signal that a reload keeps, in this browser alone.
export function kept(name, initial) {
    const key = `nacre.${name}`;
    const read = () => {
        try {
            return JSON.parse(localStorage.getItem(key)) ?? initial;
        } catch {
            // A browser without storage keeps nothing.
            return initial;
        }
    };
    const made = signal(read());
    made.subscribe((next) => {
        try {
            localStorage.setItem(key, JSON.stringify(next));
        } catch {
            // As above.
        }
    });
    return {
        ...made,
        /// Takes the value of another tab, and calls `then` each time that one changes it.
        follow: (then) => addEventListener("storage", (event) => {
            if (event.key !== key) return;
            made.set(read());
            then();
        }),
        /// Takes and returns what another tab may have kept.
        renew() {
            made.set(read());
            return made.get();
        },
    };
}

export const store = {
    /// `{ id, name, role, expires, actions }`, where `actions` are what its role may ask; null: signed out.
    session: signal(null),
    /// The containers: `[{ name, created }]`.
    containers: signal([]),
    /// The place in which pages of a container are: `{ container, environment }`; container is "" before there is one.
    place: kept("place", { container: "", environment: "development" }),
    server: signal(null),
    theme: kept("theme", "system"),
    isUTC: kept("utc", false),
    /// Names that the user gave to queries, by container.
    queries: kept("queries", {}),
    /// The fragment at which a session ended, to which the next one returns.
    back: kept("back", ""),
    recent: kept("recent", {}),
    /// The key of the session: its cookie, which other ports of the host are sent too, opens nothing without it.
    key: kept("key", ""),
    /// The user in whose name records of public databases are changed, by container.
    author: kept("author", {}),
};

/// Whether the session's role may ask an endpoint of the admin API, such as "POST containers". The server refuses what it may not; pages leave it out.
export const may = (asked) => store.session.get()?.actions?.includes(asked.replace(" ", " /admin/1/")) ?? true;
