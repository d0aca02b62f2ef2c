/** What tabs of one origin share beside its locks: a store of states, and the token of the session. */

/** A double of a store in IndexedDB. */
export class MemoryStore {
    #states = new Map();
    #edits = [];
    #count = 0;
    #generation = 0;
    /** The number of states that were kept. */
    kept = 0;

    async load(name) {
        await null;
        const generation = `${this.#generation}`;
        return { generation, state: this.#states.get(name), edits: this.#edits.filter((edit) => edit.name === name).map(({ number, text }) => ({ number, text })) };
    }

    async keep(name, state, last, generation) {
        await null;
        this.kept += 1;
        this.#states.set(name, state);
        if (generation === `${this.#generation}`) this.#edits = this.#edits.filter((edit) => edit.name !== name || edit.number > last);
    }

    async add(name, text) {
        await null;
        this.#count += 1;
        this.#edits.push({ name, number: this.#count, text });
    }

    /** Is deleted by the page. */
    delete() {
        this.#states.clear();
        this.#edits = [];
        this.#count = 0;
        this.#generation += 1;
    }
}

/** An app's own store of tokens, which its tabs share. */
export function sharedToken() {
    let kept = null;
    return { getToken: () => kept, putToken(id, token) { kept = token; } };
}
