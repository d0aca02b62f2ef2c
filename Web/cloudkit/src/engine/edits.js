/** The edits of an engine's tabs, which the engine that runs takes out of the store and into its state. */

/** @typedef {import("./state.js").SyncState} SyncState */
/** @typedef {Parameters<SyncState["apply"]>[0]} Edit */

export class Edits {
    #store;
    #name;
    /** @type {Promise<unknown>} edits that are being written for the tab that runs */
    #writes = Promise.resolve();
    /** @type {Edit[]} edits of this tab that the store does not have, in their order */
    #unkept = [];
    /** @type {Edit[]} edits of this tab that its state has, and the kept one does not */
    #fresh = [];
    /** The number of the last edit of other tabs that the state has. */
    #last = 0;
    /** @type {string | undefined} the generation of the store that counts the edits */
    #generation;

    /**
     * @param {import("../../cloudkit").SyncStore} store
     * @param {string} name of the engine
     */
    constructor(store, name) {
        this.#store = store;
        this.#name = name;
    }

    /** @returns {Promise<unknown>} fulfilled when the store has been given what was added so far */
    get written() {
        return this.#writes;
    }

    /** Begins anew with the store's state, as after a turn that another tab has taken. */
    restart() {
        this.#unkept.unshift(...this.#fresh.splice(0));
        this.#last = 0;
        this.#generation = undefined;
    }

    /** @param {Edit} edit is in the state of this tab, which is not kept yet */
    note(edit) {
        this.#fresh.push(edit);
    }

    /** @param {Edit} edit waits in this page */
    hold(edit) {
        this.#unkept.push(edit);
    }

    /**
     * Keeps an edit for the tab that runs. One that fails is kept with the next one, or taken at this tab's turn.
     * @param {Edit} edit
     * @param {() => void} tell called when the store has it
     * @param {(error: unknown) => void} fail called when the store has not taken it
     */
    add(edit, tell, fail) {
        this.hold(edit);
        this.#writes = this.#writes.then(async () => {
            while (this.#unkept.length > 0) {
                await this.#store.add(this.#name, JSON.stringify(this.#unkept[0]));
                this.#unkept.shift();
            }
            tell();
        }).catch(fail);
    }

    /** Reads the state and the edits, and again if this tab has written an edit meanwhile. */
    async load() {
        for (;;) {
            const writes = this.#writes;
            await writes;
            const loaded = await this.#store.load(this.#name);
            if (this.#writes === writes) return loaded;
        }
    }

    /**
     * Takes what other tabs have added, and this one before its turn.
     * @param {SyncState} state
     * @param {{ edits: { number: number, text: string }[], generation?: string }} loaded
     * @returns {boolean} whether the state is to be kept
     */
    take(state, { edits, generation }) {
        // A store that the page has deleted has no state, and counts from 1.
        const isNew = this.#generation !== undefined && generation !== this.#generation;
        if (isNew) this.#last = 0;
        this.#generation = generation;
        const left = edits.filter(({ number }) => number > this.#last);
        for (const { number, text } of left) {
            state.apply(JSON.parse(text));
            this.#last = number;
        }
        const own = this.#unkept.splice(0);
        for (const edit of own) state.apply(edit);
        const isChanged = isNew || left.length + own.length > 0;
        // The state is kept, and with it that the edits are done, also where they change nothing.
        if (isChanged) state.revision += 1;
        return isChanged;
    }

    /**
     * Keeps a state, and forgets the edits that it has.
     * @param {string} text
     */
    async keep(text) {
        const fresh = this.#fresh.splice(0);
        try {
            await this.#store.keep(this.#name, text, this.#last, this.#generation);
        } catch (error) {
            this.#fresh.unshift(...fresh);
            throw error;
        }
    }
}
