/** One fetch or send of a sync engine. */

import { cancelled } from "./failures.js";

export class Run {
    #controller = new AbortController();
    /** Ends the wait for the run's turn. */
    endWait = () => {};
    /** Whether something was saved or deleted. */
    hasSucceeded = false;
    /** @type {number | undefined} the session of the user that the state belongs to */
    epoch;

    /** Ends the run's requests. */
    get signal() {
        return this.#controller.signal;
    }

    cancel() {
        this.#controller.abort(cancelled());
        this.endWait();
    }

    check() {
        if (this.signal.aborted) throw cancelled();
    }
}
