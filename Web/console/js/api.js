/// The admin API, the only thing that the console talks to.

import { store } from "./store.js";

/// A refusal: what happened, and what to do about it.
export class APIError extends Error {
    constructor({ status, code, detail, title, remedy, field, requestID }) {
        super(detail || title || "The server did not answer.");
        Object.assign(this, { status, code, reason: this.message, remedy, field, requestID });
    }
}

/// Called when a session has ended; the shell sets it.
export const session = { onEnd: () => {} };

function address(path, query) {
    const url = new URL("../admin/1/" + path, document.baseURI);
    for (const [name, value] of Object.entries(query ?? {})) {
        for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, one);
    }
    // The server takes a plus for itself, and not for a blank.
    url.search = url.search.replaceAll("+", "%20");
    return url;
}

/// The header that proves that the request comes from this page: the session's key, once there is one.
const proof = () => ({ "X-Nacre-Console": store.key.get() || "1" });

const noAnswer = () => new APIError({ status: 0, code: "NETWORK", detail: "The server does not answer.", remedy: "See whether it runs: nacre status." });

async function ask(method, path, { query, body, signal, key, isFile } = {}) {
    const headers = proof();
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    let answer;
    try {
        answer = await fetch(address(path, query), { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw noAnswer();
    }
    // Another tab has signed in since: its session is this tab's too.
    const { "X-Nacre-Console": sent } = headers;
    if (answer.status === 401 && sent !== "1" && store.key.renew() && store.key.get() !== sent) {
        return ask(method, path, { query, body, signal, key, isFile });
    }
    if (isFile && answer.ok) return answer;
    return read(path, answer.status, await answer.text(), (name) => answer.headers.get(name));
}

function read(path, status, text, header) {
    const isJSON = /json/.test(header("Content-Type") ?? "");
    let message = isJSON ? undefined : text;
    try {
        if (isJSON) message = JSON.parse(text);
    } catch {
        // An answer that was cut off has no members.
    }
    if (status >= 200 && status < 300) {
        if (message !== undefined) return message;
        throw new APIError({ status, code: "NETWORK", detail: "The server's answer was cut off.",
            remedy: "Reload the page. If it says so again, look at a proxy between the browser and the server." });
    }
    const error = new APIError({ status, requestID: header("X-Request-Id"), ...(isJSON ? message : { detail: message }) });
    if (status === 401 && !path.startsWith("console/")) session.onEnd();
    throw error;
}

/// Sends a file; `onprogress` hears which part of it has gone, from 0 to 1. Only this kind of request tells that.
function send(path, query, file, { signal, onprogress } = {}) {
    return new Promise((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open("POST", address(path, query));
        for (const [name, value] of Object.entries(proof())) request.setRequestHeader(name, value);
        request.setRequestHeader("Content-Type", "application/octet-stream");
        request.upload.onprogress = ({ loaded, total }) => onprogress?.(total ? loaded / total : 1);
        request.onerror = () => reject(noAnswer());
        request.onabort = () => reject(new DOMException("", "AbortError"));
        request.onload = () => {
            try {
                resolve(read(path, request.status, request.responseText, (name) => request.getResponseHeader(name)));
            } catch (error) {
                reject(error);
            }
        };
        signal?.addEventListener("abort", () => request.abort());
        request.send(file);
    });
}

export const api = {
    get: (path, query, options) => ask("GET", path, { ...options, query }),
    post: (path, body, options) => ask("POST", path, { ...options, body: body ?? {} }),
    /// The answer itself, whose body is a file.
    file: (path, body, options) => ask("POST", path, { ...options, body, isFile: true }),
    send,
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
