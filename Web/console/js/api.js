/// The admin API, the only thing that the console talks to.

/// A refusal: what happened, and what to do about it.
export class APIError extends Error {
    constructor({ status, code, detail, title, remedy, field, requestID }) {
        super(detail || title || "The server did not answer.");
        Object.assign(this, { status, code, reason: this.message, remedy, field, requestID });
    }
}

/// Called when a session has ended; the shell sets it.
export const session = { onEnd: () => {} };

async function ask(method, path, { query, body, signal, key, isFile } = {}) {
    const url = new URL("../admin/1/" + path, document.baseURI);
    for (const [name, value] of Object.entries(query ?? {})) {
        for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, one);
    }
    const headers = { "X-Nacre-Console": "1" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    let answer;
    try {
        answer = await fetch(url, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new APIError({ status: 0, code: "NETWORK", detail: "The server does not answer.", remedy: "See whether it runs: nacre status." });
    }
    if (isFile && answer.ok) return answer;
    const isJSON = /json/.test(answer.headers.get("Content-Type") ?? "");
    const message = isJSON ? await answer.json().catch(() => ({})) : await answer.text();
    if (answer.ok) return message;
    const error = new APIError({ status: answer.status, requestID: answer.headers.get("X-Request-Id"), ...(isJSON ? message : { detail: message }) });
    if (error.status === 401 && !path.startsWith("console/")) session.onEnd();
    throw error;
}

export const api = {
    get: (path, query, options) => ask("GET", path, { ...options, query }),
    post: (path, body, options) => ask("POST", path, { ...options, body: body ?? {} }),
    /// The answer itself, whose body is a file.
    file: (path, body, options) => ask("POST", path, { ...options, body, isFile: true }),
    delete: (path, options) => ask("DELETE", path, options),

    /// All pages of a list, up to `most` elements: `{ list, isWhole }`.
    async all(path, query, name, { most = 2000, ...options } = {}) {
        const list = [];
        let after;
        do {
            const page = await ask("GET", path, { ...options, query: { ...query, after } });
            list.push(...page[name]);
            after = page.next;
        } while (after && list.length < most);
        return { list, isWhole: !after };
    },
};
