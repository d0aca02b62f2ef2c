/** Requests: their URLs, their credentials, and the errors of their answers. */

import { CKError, invalid, localError, serverError } from "./error.js";
import { Session } from "./session.js";
import { Signer } from "./signing.js";

/** @typedef {{ signal?: AbortSignal, epoch?: number }} Cancelling `epoch`: the session that the request is for */

/** The longest that a request may take with its answer, in seconds. The server holds an answer back for 30 at most. */
const answerSeconds = 120;

/** The parts of a configuration that are not about one container. */
export class Services {
    /** @param {Partial<import("../cloudkit").Services>} [given] */
    constructor(given = {}) {
        this.Promise = given.Promise ?? Promise;
        this.authTokenStore = given.authTokenStore;
        this.keyStore = given.keyStore;
        this.encryption = given.encryption;
        this.logger = given.logger;
        this.now = given.now ?? Date.now;
        this.pause = given.pause ?? paused;
        this.random = given.random ?? Math.random;
        this.logsToConsole = () => false;
        /** @type {typeof fetch} */
        this.fetch = (resource, options) => /** @type {any} */ (given.fetch ?? globalThis.fetch).call(globalThis, resource, options);
    }

    /**
     * @param {"info" | "warn" | "error"} level
     * @param {string} text without credentials and content
     */
    log(level, text) {
        this.logger?.[level]?.(text);
        if (this.logsToConsole() && this.logger !== console) console[level](text);
    }

    /**
     * A promise of the class that the page has chosen.
     * @template T
     * @param {() => Promise<T>} work
     * @returns {Promise<T>}
     */
    promise(work) {
        const promise = work();
        return this.Promise === Promise ? promise : new this.Promise((resolve, reject) => { promise.then(resolve, reject); });
    }
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} [signal] ends the pause early
 * @returns {Promise<void>}
 */
function paused(milliseconds, signal) {
    return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const end = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", end);
            resolve();
        };
        const timer = setTimeout(end, milliseconds);
        signal?.addEventListener("abort", end);
    });
}

/** The requests of one container. */
export class Transport {
    #signer;
    /** @type {Set<() => void>} called with each notification that comes */
    listeners = new Set();

    /**
     * @param {import("../cloudkit").ContainerConfig} config
     * @param {Services} services
     * @param {string} serverURL without a slash at its end
     */
    constructor(config, services, serverURL) {
        this.config = config;
        this.services = services;
        this.serverURL = serverURL;
        this.session = new Session(config, services.authTokenStore);
        const { serverToServerKeyAuth: key } = config;
        this.#signer = key && new Signer(key, services.now);
        /** What seals and opens encrypted values, if the page has loaded the module for it. */
        this.encryption = key ? undefined : services.encryption?.(this, { CKError, optionsOf });
    }

    /**
     * Asks an endpoint of a database.
     * @param {string} database its scope
     * @param {string} endpoint such as records/query
     * @param {object | undefined} body without it the request is a GET
     * @param {Cancelling} options
     * @returns {Promise<any>} the answer's object
     */
    ask(database, endpoint, body, options) {
        return this.#askPath(`/database/1/${this.#place}/${database.toLowerCase()}/${endpoint}`, body, options);
    }

    /**
     * Asks an endpoint of a database: what is saved is sealed and what is answered opened, if the page has the module for
     * encrypted values.
     * @param {string} database its scope
     * @param {string} endpoint
     * @param {object | undefined} body
     * @param {Cancelling & { unanswered?: object }} options
     * @param {(body: object | undefined) => Promise<any>} [send] sends what is sealed
     * @returns {Promise<any>} the answer's object
     */
    askOpened(database, endpoint, body, options, send = (sent) => this.ask(database, endpoint, sent, options)) {
        return this.encryption && body ? this.encryption.ask(database, endpoint, body, send, options) : send(body);
    }

    /**
     * Asks an endpoint of devices.
     * @param {string} endpoint such as tokens/create
     * @param {object | undefined} body without it the request is a GET
     * @param {Cancelling} options
     * @returns {Promise<any>} the answer's object
     */
    askDevice(endpoint, body, options) {
        return this.#askPath(`/device/1/${this.#place}/${endpoint}`, body, options);
    }

    /**
     * Opens the event stream of a device.
     * @param {string} clientId the device's name
     * @param {Cancelling} options the signal ends the stream too
     * @returns {Promise<Response>} the answer, whose body is the stream
     */
    async openStream(clientId, { signal }) {
        const { answer, token } = await this.#sendAsUser(`/device/1/${this.#place}/notifications`, undefined, { signal }, { clientId });
        if (!answer.ok) await this.#object(answer, signal, token);
        return answer;
    }

    get #place() {
        return `${this.config.containerIdentifier}/${this.config.environment}`;
    }

    /**
     * Asks once, and not without an end: a connection that died in silence would hold a sync engine for ever.
     * @param {string} path
     * @param {object | undefined} body
     * @param {Cancelling} options
     */
    async #askPath(path, body, { signal, epoch }) {
        // TypeScript's library of Debian lacks both.
        const signals = /** @type {any} */ (AbortSignal);
        /** @type {AbortSignal} */
        const limit = signals.timeout(answerSeconds * 1000);
        /** @type {AbortSignal} */
        const first = signal ? signals.any?.([signal, limit]) ?? signal : limit;
        try {
            const { answer, token } = await this.#sendAsUser(path, body, { signal: first, epoch });
            return await this.#object(answer, first, token);
        } catch (error) {
            if (!limit.aborted || error !== /** @type {any} */ (limit).reason) throw error;
            throw localError("NETWORK_ERROR", `the server has not answered within ${answerSeconds} seconds`);
        }
    }

    /**
     * Sends a request with the user's token or the key's signature, and takes the newer token of its answer.
     * @param {string} path
     * @param {object | undefined} body
     * @param {Cancelling} options
     * @param {Record<string, string>} [query]
     */
    async #sendAsUser(path, body, { signal, epoch }, query) {
        const text = body === undefined ? undefined : JSON.stringify(body);
        // Text needs no preflight from another origin.
        /** @type {Record<string, string>} */
        const headers = text === undefined ? {} : { "Content-Type": "text/plain; charset=UTF-8" };
        const token = this.#signer ? null : await this.session.token();
        if (epoch !== undefined && epoch !== this.session.epoch) {
            throw localError("AUTHENTICATION_REQUIRED", "the session has ended, or another user's has begun");
        }
        const answer = await this.send(`${path}${this.#query(token, query)}`, {
            method: text === undefined ? "GET" : "POST", body: text, signal,
            headers: { ...headers, ...await this.#signer?.headers(path, text ?? "") },
        });
        if (token) await this.#takeToken(answer, token);
        return { answer, token };
    }

    /**
     * Ends the session: here first, so that no answer that is under way brings a newer token, and then on the server.
     * @param {Cancelling} options
     */
    async signOut({ signal } = {}) {
        const token = await this.session.token();
        if (!token) return this.session.end();
        try {
            await this.session.end();
        } finally {
            await this.endOnServer(token, { signal });
        }
    }

    /**
     * Ends the session of a token on the server.
     * @param {string} token
     * @param {Cancelling} options
     */
    async endOnServer(token, { signal } = {}) {
        // A page that leaves because the session has ended here does not take the request along.
        const options = { method: "POST", keepalive: true, signal };
        await this.read(await this.send(`/account/1/sign-out${this.#query(token)}`, options), signal);
    }

    /**
     * Sends a request without a credential of its own.
     * @param {string} target a path with its query, or a URL of the server
     * @param {RequestInit} options
     */
    async send(target, options) {
        const url = target.startsWith("/") ? this.serverURL + target : target;
        const start = this.services.now();
        // The URL of a file, or of waiting notifications, stands for a credential.
        const shown = `${options.method} ${target.startsWith("/") ? url.replace(/\?.*$/, "") : "a URL of the server"}`;
        try {
            const answer = await this.services.fetch(url, { credentials: "omit", cache: "no-store", ...options });
            this.services.log("info", `${shown} ${answer.status} in ${this.services.now() - start} ms`);
            return answer;
        } catch (cause) {
            throw this.#failure(cause, options.signal, shown);
        }
    }

    /**
     * @param {Response} answer
     * @param {AbortSignal | null | undefined} signal the request's
     * @returns {Promise<any>} the answer's object
     */
    read(answer, signal) {
        return this.#object(answer, signal, null);
    }

    /**
     * @param {Response} answer
     * @param {AbortSignal | null | undefined} signal the request's
     */
    async text(answer, signal) {
        try {
            return await answer.text();
        } catch (cause) {
            throw this.#failure(cause, signal, "the answer");
        }
    }

    /**
     * The bytes of an answer as they come.
     * @param {Response} answer
     * @param {AbortSignal | null | undefined} signal the request's
     * @returns {AsyncGenerator<Uint8Array, void, undefined>}
     */
    async *bytes(answer, signal) {
        const reader = answer.body?.getReader();
        try {
            for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) yield part.value;
        } catch (cause) {
            throw this.#failure(cause, signal, "the answer");
        } finally {
            reader?.cancel().catch(() => {});
        }
    }

    /**
     * @param {string | null} token
     * @param {Record<string, string>} [more]
     */
    #query(token, more = {}) {
        const apiToken = this.config.apiTokenAuth?.apiToken;
        const values = Object.entries({ ...apiToken && { ckAPIToken: apiToken }, ...apiToken && token && { ckWebAuthToken: token }, ...more });
        return values.map(([name, value], place) => `${place === 0 ? "?" : "&"}${name}=${encodeURIComponent(value)}`).join("");
    }

    /**
     * @param {Response} answer
     * @param {string} sent
     */
    async #takeToken(answer, sent) {
        const token = answer.headers.get("X-Apple-CloudKit-Web-Auth-Token") ?? answer.headers.get("X-Apple-CloudKit-Session");
        if (!token) return;
        try {
            await this.session.renew(token, sent);
        } catch (error) {
            // The request was answered all the same, and the old token may live on.
            this.services.log("warn", String(error));
        }
    }

    /**
     * @param {Response} answer
     * @param {AbortSignal | null | undefined} signal the request's
     * @param {string | null} sent the web auth token of the request
     */
    async #object(answer, signal, sent) {
        const object = parsed(await this.text(answer, signal));
        if (answer.ok && object) return object;
        const retryAfter = Number(answer.headers.get("Retry-After")) || undefined;
        if (object?.serverErrorCode) {
            if (object.serverErrorCode === "AUTHENTICATION_REQUIRED" && sent) await this.session.end(sent);
            throw serverError(object, { remedy: answer.headers.get("X-Nacre-Remedy"), retryAfter });
        }
        if ([502, 503, 504].includes(answer.status)) {
            throw localError("SERVICE_UNAVAILABLE", `the server answered ${answer.status}`, { retryAfter });
        }
        throw localError("UNEXPECTED_SERVER_RESPONSE", `the server answered ${answer.status} and no object of CloudKit`);
    }

    /**
     * @param {unknown} cause
     * @param {AbortSignal | null | undefined} signal
     * @param {string} shown
     */
    #failure(cause, signal, shown) {
        if (signal?.aborted || /** @type {any} */ (cause)?.name === "AbortError") return signal?.reason ?? cause;
        // A message may have the whole URL, and with it the tokens.
        this.services.log("warn", `${shown} failed: ${/** @type {any} */ (cause)?.name}`);
        return localError("NETWORK_ERROR", "the server was not reached, or the connection broke", { cause });
    }
}

/**
 * @param {string} text
 * @returns {any} the object; undefined if it is none
 */
function parsed(text) {
    try {
        const object = JSON.parse(text);
        return typeof object === "object" && object !== null ? object : undefined;
    } catch {
        return undefined;
    }
}

/**
 * Checks the options of a method, which may be left out.
 * @param {any} options
 */
export function optionsOf(options) {
    if (options !== undefined && (typeof options !== "object" || options === null)) throw invalid("options are an object");
    return options ?? {};
}
