/** Numbers that a seed draws (mulberry32). */
export class Draws {
    #state;

    constructor(seed) {
        this.#state = seed >>> 0;
    }

    /** A whole number from 0 up to a bound. */
    below(bound) {
        this.#state = (this.#state + 0x6d2b79f5) >>> 0;
        let value = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
        value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
        return Math.floor((((value ^ (value >>> 14)) >>> 0) / 2 ** 32) * bound);
    }

    oneIn(chances) {
        return this.below(chances) === 0;
    }

    /** One of a list; undefined: it is empty. */
    of(list) {
        return list[this.below(list.length)];
    }
}
