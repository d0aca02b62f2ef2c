/** The parts of a browser that tabs of one origin share: locks, and a store of states in memory. */

/** A double of `navigator.locks`: exclusive locks, in the order of asking. */
export class Locks {
    #held = new Set();
    #waiting = [];

    request(name, { signal }, work) {
        return new Promise((resolve, reject) => {
            const waiter = { name, begin: () => {
                this.#held.add(name);
                Promise.resolve(work()).then(resolve, reject).finally(() => {
                    this.#held.delete(name);
                    this.#next(name);
                });
            } };
            this.#waiting.push(waiter);
            signal?.addEventListener("abort", () => {
                if (!this.#waiting.includes(waiter)) return;
                this.#waiting = this.#waiting.filter((one) => one !== waiter);
                reject(signal.reason);
            });
            this.#next(name);
        });
    }

    #next(name) {
        const waiter = this.#waiting.find((one) => one.name === name);
        if (!waiter || this.#held.has(name)) return;
        this.#waiting = this.#waiting.filter((one) => one !== waiter);
        waiter.begin();
    }
}

/** A double of a store in IndexedDB. */
export class MemoryStore {
    #states = new Map();
    #edits = [];
    #count = 0;
    /** The number of states that were kept. */
    kept = 0;

    async load(name) {
        await null;
        return { state: this.#states.get(name), edits: this.#edits.filter((edit) => edit.name === name).map(({ number, text }) => ({ number, text })) };
    }

    async keep(name, state, last) {
        await null;
        this.kept += 1;
        this.#states.set(name, state);
        this.#edits = this.#edits.filter((edit) => edit.name !== name || edit.number > last);
    }

    async add(name, text) {
        await null;
        this.#count += 1;
        this.#edits.push({ name, number: this.#count, text });
    }
}
