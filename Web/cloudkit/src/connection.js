/** The connection that brings a device's notifications: the event stream, or the web courier in its place. */

import { CKError, localError } from "./error.js";

/** Milliseconds at most before the next try after failures in a row. Half are at random: not all come at once then. */
const pauses = [1000, 2000, 5000, 15_000, 60_000];
/** Milliseconds until the first bytes of a stream. One that takes longer is held up, and gives way to the courier. */
const openingMilliseconds = 10_000;
/** Milliseconds that the courier is in the place of the stream. */
const courierMilliseconds = 1_800_000;
/** Milliseconds after which a silent stream is dead: the server sends a sign of life every 15 seconds. */
const silenceMilliseconds = 45_000;
/** Milliseconds after which a silent stream is not trusted when the page wakes up. */
const quietMilliseconds = 20_000;
/** Milliseconds of one stream. Each opening brings a newer token, without which the session of an idle page ends. */
const streamMilliseconds = 600_000;
/** Milliseconds within which events are acknowledged together. */
const acknowledgingMilliseconds = 1000;
/** Characters of a line at most. A payload has 4,096 bytes. */
const lineCharacters = 1 << 16;

const silence = localError("NETWORK_ERROR", "the event stream was silent");
const awakening = localError("NETWORK_ERROR", "the page woke up");

/** @typedef {{ attempt: AbortController, reader: ReadableStreamDefaultReader<Uint8Array>, bytes: Uint8Array }} Stream */

export class Connection {
    #transport;
    #apnsEnvironment;
    #device;
    #tell;
    /** @type {Stream | undefined} */
    #stream;
    /** @type {string | undefined} where the courier is asked */
    #address;
    /** The time until which the courier is asked. */
    #courierEnd = 0;
    #failures = 0;
    /** The time of the stream's last sign of life. */
    #lastSign = 0;
    /** Number of the last event that the server knows to be heard. */
    #acknowledged = 0;
    #isAcknowledging = false;
    /** Whether the server has forgotten the device, and with it what waited. */
    #isForgotten = false;
    /** @type {AbortController | undefined} */
    #pausing;

    /**
     * @param {import("./transport.js").Transport} transport
     * @param {string} apnsEnvironment
     * @param {string} device its name at the server
     * @param {(payload: any) => void} tell
     */
    constructor(transport, apnsEnvironment, device, tell) {
        this.#transport = transport;
        this.#apnsEnvironment = apnsEnvironment;
        this.#device = device;
        this.#tell = tell;
    }

    /**
     * Registers the device: its notifications wait for it from then on.
     * @param {AbortSignal} signal
     */
    async open(signal) {
        const { services } = this.#transport;
        this.#requireSession();
        if (services.now() >= this.#courierEnd) {
            this.#stream = await this.#openStream(signal);
            if (!this.#stream) this.#courierEnd = services.now() + courierMilliseconds;
        }
        if (!this.#stream) this.#address = await this.#addressOf(signal);
        this.#requireSession();
        if (!this.#isForgotten) return;
        // What waited is gone. What comes from now on is told, so the changes can be fetched.
        this.#isForgotten = false;
        this.#tell({ ck: { cid: this.#transport.config.containerIdentifier, met: {} } });
    }

    /**
     * Tells of the device's notifications until the signal says so, or the user is not signed in any more.
     * @param {AbortSignal} signal
     */
    async follow(signal) {
        while (!signal.aborted) {
            try {
                if (!this.#stream && !this.#address) await this.open(signal);
                if (this.#stream) await this.#read(this.#stream, signal); else await this.#poll(signal);
            } catch (error) {
                const { ckErrorCode, retryAfter } = /** @type {any} */ (error) ?? {};
                if (signal.aborted || ["AUTHENTICATION_REQUIRED", "AUTHENTICATION_FAILED"].includes(ckErrorCode)) break;
                this.#log(error);
                this.#failures += 1;
                await this.#pause(this.#failures, signal, retryAfter);
            }
        }
        this.#stream?.attempt.abort();
        this.#stream = this.#address = undefined;
    }

    /** Ends a pause, and a stream that may have broken while the page slept. */
    wake() {
        this.#pausing?.abort();
        if (this.#stream && this.#transport.services.now() - this.#lastSign > quietMilliseconds) this.#stream.attempt.abort(awakening);
    }

    /** @param {unknown} error which may have more than a log should */
    #log(error) {
        this.#transport.services.log("warn", `Notifications: ${error instanceof CKError ? error : /** @type {any} */ (error)?.name}`);
    }

    /** Throws if the session has given way to another one: its requests would be another user's. */
    #requireSession() {
        if (this.#transport.session.notes.device === this.#device) return;
        this.#stream?.attempt.abort();
        throw new CKError({ ckErrorCode: "AUTHENTICATION_REQUIRED", reason: "the session has ended" });
    }

    /**
     * @param {number} failures in a row
     * @param {AbortSignal} signal
     * @param {number} [seconds] that the server asks for
     */
    async #pause(failures, signal, seconds = 0) {
        if (signal.aborted) return;
        const pausing = this.#pausing = new AbortController();
        signal.addEventListener("abort", () => pausing.abort(), { signal: pausing.signal });
        const most = pauses[Math.min(failures, pauses.length) - 1];
        await this.#transport.services.pause(Math.max(most * (1 + Math.random()) / 2, seconds * 1000), pausing.signal);
        pausing.abort();
    }

    // The event stream

    /**
     * @param {AbortSignal} signal
     * @returns {Promise<Stream | undefined>} undefined: no stream comes through
     */
    async #openStream(signal) {
        // A server that was restored from a backup knows fewer events, and then says that others were left out.
        this.#acknowledged = 0;
        await this.#acknowledge(signal);
        if (signal.aborted) throw signal.reason;
        const attempt = new AbortController();
        signal.addEventListener("abort", () => attempt.abort(signal.reason), { signal: attempt.signal });
        try {
            const opening = this.#transport.openStream(this.#device, { signal: attempt.signal });
            const answer = await this.#within(openingMilliseconds, attempt, opening);
            const reader = answer.body?.getReader?.();
            if (reader && answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
                // A `fetch` that the app gives may not end the body.
                attempt.signal.addEventListener("abort", () => { reader.cancel().catch(() => {}); });
                const { value } = await this.#within(openingMilliseconds, attempt, reader.read());
                if (value) return { attempt, reader, bytes: value };
            }
            if (signal.aborted) throw signal.reason;
            attempt.abort();
            return undefined;
        } catch (error) {
            const isOld = ["NOT_FOUND", "UNEXPECTED_SERVER_RESPONSE"].includes(/** @type {any} */ (error)?.ckErrorCode);
            const isHeldUp = isOld || attempt.signal.reason === silence;
            attempt.abort();
            if (isHeldUp && !signal.aborted) return undefined;
            throw error;
        }
    }

    /**
     * Awaits work for so many milliseconds, and then ends the attempt that it is a part of.
     * @template T
     * @param {number} milliseconds
     * @param {AbortController} attempt
     * @param {Promise<T>} work
     */
    async #within(milliseconds, attempt, work) {
        const done = new AbortController();
        const over = new Promise((_, reject) => {
            attempt.signal.addEventListener("abort", () => reject(attempt.signal.reason), { signal: done.signal });
        });
        this.#transport.services.pause(milliseconds, done.signal).then(() => { if (!done.signal.aborted) attempt.abort(silence); });
        try {
            return await /** @type {Promise<T>} */ (Promise.race([work, over]));
        } finally {
            done.abort();
        }
    }

    /**
     * Reads a stream to its end.
     * @param {Stream} stream
     * @param {AbortSignal} signal
     */
    async #read({ attempt, reader, bytes }, signal) {
        const { services } = this.#transport;
        const events = new EventReader();
        const end = services.now() + streamMilliseconds;
        try {
            while (services.now() < end) {
                this.#lastSign = services.now();
                for (const event of events.read(bytes)) if (!attempt.signal.aborted) this.#take(event, signal);
                const { done, value } = await this.#within(silenceMilliseconds, attempt, reader.read());
                if (attempt.signal.aborted) throw attempt.signal.reason;
                if (done) throw localError("NETWORK_ERROR", "the event stream ended");
                bytes = value;
                this.#failures = 0;
            }
        } catch (error) {
            if (attempt.signal.reason === awakening) return;
            throw attempt.signal.aborted ? attempt.signal.reason : error;
        } finally {
            attempt.abort();
            this.#stream = undefined;
        }
    }

    /**
     * @param {{ id: string, event: string, data: string }} event
     * @param {AbortSignal} signal
     */
    #take({ id, event, data }, signal) {
        try {
            if (event === "notification") this.#tell(JSON.parse(data));
        } catch (error) {
            this.#log(error);
        }
        const { session } = this.#transport;
        if (id === "" || session.notes.device !== this.#device) return;
        // The tab that has the connection next goes on behind this event.
        session.note({ heard: Number(id) });
        this.#acknowledgeSoon(signal);
    }

    /** @param {AbortSignal} signal */
    async #acknowledgeSoon(signal) {
        if (this.#isAcknowledging) return;
        this.#isAcknowledging = true;
        await this.#transport.services.pause(acknowledgingMilliseconds, signal);
        this.#isAcknowledging = false;
        try {
            if (!signal.aborted) await this.#acknowledge(signal);
        } catch (error) {
            if (!signal.aborted) this.#log(error);
        }
    }

    /**
     * Tells the server which events the device has, so that they do not come again.
     * @param {AbortSignal} signal
     */
    async #acknowledge(signal) {
        const { session } = this.#transport;
        const { heard = 0 } = session.notes;
        if (heard === this.#acknowledged) return;
        try {
            await this.#transport.askDevice("notifications", { clientId: this.#device, heard }, { signal });
            this.#acknowledged = heard;
        } catch (error) {
            if (/** @type {any} */ (error)?.ckErrorCode !== "NOT_FOUND") throw error;
            session.note({ heard: 0 });
            this.#isForgotten = true;
            this.#stream?.attempt.abort(awakening);
        }
    }

    // The web courier

    /**
     * @param {AbortSignal} signal
     * @returns {Promise<string>} where the notifications of the device are asked for
     */
    async #addressOf(signal) {
        const device = { apnsEnvironment: this.#apnsEnvironment, clientId: this.#device };
        const { apnsToken, webcourierURL } = await this.#transport.askDevice("tokens/create", device, { signal });
        await this.#transport.askDevice("tokens/register", { ...device, apnsToken }, { signal });
        return webcourierURL;
    }

    /**
     * Asks the courier once. An address that is not good any more has a successor as long as the user is signed in.
     * @param {AbortSignal} signal
     */
    async #poll(signal) {
        const { services } = this.#transport;
        const start = services.now();
        const answer = await this.#transport.send(/** @type {string} */ (this.#address), { method: "GET", signal });
        if ([401, 404, 421].includes(answer.status)) {
            this.#address = undefined;
            if (this.#failures > 0) await this.#pause(this.#failures, signal);
            this.#failures += 1;
            return;
        }
        if (!answer.ok) await this.#transport.read(answer, signal);
        const text = await this.#transport.text(answer, signal);
        if (text !== "") this.#tell(JSON.parse(text));
        // The server waits before it answers that there is nothing; one that does not is not asked in a loop.
        else if (services.now() - start < pauses[0]) await this.#pause(1, signal);
        this.#failures = 0;
        if (services.now() >= this.#courierEnd) this.#address = undefined;
    }
}

/** Reads server-sent events, each with its data in one line. */
class EventReader {
    #decoder = new TextDecoder();
    #text = "";
    #event = { id: "", event: "", data: "" };

    /**
     * @param {Uint8Array} bytes
     * @returns {{ id: string, event: string, data: string }[]} the events that are whole now
     */
    read(bytes) {
        const events = [];
        const lines = (this.#text + this.#decoder.decode(bytes, { stream: true })).split(/\r?\n/);
        this.#text = /** @type {string} */ (lines.pop());
        if (this.#text.length > lineCharacters) throw new RangeError("a line of the event stream is too long");
        for (const line of lines) {
            const [, name, value] = /** @type {RegExpExecArray} */ (/^([^:]*):? ?(.*)$/s.exec(line));
            if (name === "id" || name === "event") this.#event[name] = value;
            else if (name === "data") this.#event.data = value;
            else if (line === "" && this.#event.event !== "") {
                events.push(this.#event);
                this.#event = { id: "", event: "", data: "" };
            }
        }
        return events;
    }
}
