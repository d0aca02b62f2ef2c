/** When a sync engine fetches and sends by itself. Pure: the time is always an argument, in seconds. */

import { code, codeOf, each, isOfNetwork, mayPass } from "./failures.js";

/** @typedef {{ fetch?: boolean, send?: boolean }} Due */
/** @typedef {{ kind: "retry", after?: number, isNetwork: boolean }} Retry `after`: seconds that the server asks for */
/** @typedef {{ kind: "success" | "fruitless" | "cancelled" } | Retry} Ending */

/** Seconds of the first pause, and of the longest. */
export const firstPause = 1;
const longestPause = 300;

/**
 * How a fetch or send ended, for the schedule.
 * @param {any} error
 * @param {boolean} isFruitless whether it was a send of which nothing succeeded, and something is pending still
 * @returns {Ending}
 */
export function endingOf(error, isFruitless) {
    const errors = error ? each(error) : [];
    if (errors.some((one) => codeOf(one) === code.operationCancelled)) return { kind: "cancelled" };
    const passing = errors.filter(mayPass);
    if (passing.length === 0) return { kind: error && isFruitless ? "fruitless" : "success" };
    const asked = passing.map(({ retryAfter }) => retryAfter).filter((seconds) => seconds !== undefined);
    return { kind: "retry", after: asked.length > 0 ? Math.max(...asked) : undefined, isNetwork: passing.every(isOfNetwork) };
}

/** Fetching or sending. */
class Work {
    isWanted = false;
    askedUntil = 0;
    pausedUntil = 0;
    failures = 0;
    fruitless = 0;
    waitsForNetwork = false;

    get notBefore() {
        return Math.max(this.askedUntil, this.pausedUntil);
    }

    /**
     * @param {Ending} ending
     * @param {boolean} byHand
     * @param {number} now
     * @param {number} spread
     */
    end(ending, byHand, now, spread) {
        const pause = (/** @type {number} */ doublings) => Math.min(firstPause * 2 ** doublings, longestPause) * (0.75 + 0.25 * spread);
        switch (ending.kind) {
            case "success": Object.assign(this, new Work(), { isWanted: this.isWanted }); break;
            case "cancelled":
                if (byHand) break;
                this.isWanted = true;
                this.pausedUntil = Math.max(this.pausedUntil, now + pause(0));
                break;
            case "fruitless":
                if (byHand) break;
                // Changes that were added again go at once the first time: most conflicts are solved by that.
                this.pausedUntil = this.fruitless === 0 ? 0 : now + pause(this.fruitless - 1);
                this.waitsForNetwork = false;
                this.fruitless += 1;
                break;
            case "retry":
                this.fruitless = 0;
                this.isWanted = true;
                if (ending.after !== undefined) this.askedUntil = now + ending.after;
                if (byHand && this.failures > 0) break;
                // A failure of another kind begins with the first pause: the server was reached since, or no longer is.
                if (ending.isNetwork !== this.waitsForNetwork) this.failures = 0;
                this.pausedUntil = now + pause(this.failures);
                this.waitsForNetwork = ending.isNetwork;
                this.failures += 1;
        }
    }
}

export class Schedule {
    #fetching = new Work();
    #sending = new Work();

    /** @param {Due} due */
    #of({ fetch, send }) {
        return [...(fetch ? [this.#fetching] : []), ...(send ? [this.#sending] : [])];
    }

    get #both() {
        return [this.#fetching, this.#sending];
    }

    /** @param {Due} due */
    want(due) {
        for (const work of this.#of(due)) work.isWanted = true;
    }

    /**
     * @param {number} now
     * @returns {{ run: Due } | { wait: number } | undefined} what is due, or the seconds until something is; nothing if
     *   nothing is wanted
     */
    decide(now) {
        const wanted = this.#both.filter(({ isWanted }) => isWanted);
        if (wanted.length === 0) return undefined;
        const first = Math.min(...wanted.map(({ notBefore }) => notBefore));
        if (now < first) return { wait: first - now };
        const [fetch, send] = this.#both.map(({ isWanted, notBefore }) => isWanted && notBefore <= now);
        return { run: { fetch, send } };
    }

    /** @param {Due} due */
    begin(due) {
        for (const work of this.#of(due)) work.isWanted = false;
    }

    /**
     * @param {Due} done
     * @param {Ending} ending
     * @param {{ now: number, spread: number, byHand?: boolean }} more `spread`: from 0 to 1, for pauses of a device's own
     */
    end(done, ending, { now, spread, byHand = false }) {
        for (const work of this.#of(done)) work.end(ending, byHand, now, spread);
        if (ending.kind !== "cancelled" && !(ending.kind === "retry" && ending.isNetwork)) this.retryNetwork();
    }

    /** Ends the pauses that wait for a network. */
    retryNetwork() {
        for (const work of this.#both) if (work.waitsForNetwork) work.pausedUntil = 0;
    }

    /** Ends all pauses. */
    retryNow() {
        for (const work of this.#both) Object.assign(work, { askedUntil: 0, pausedUntil: 0 });
    }
}
