/** A secret of 32 bytes as 24 words that a person writes down: 256 bits and a checksum of 8, 11 bits in each word. */

import { Fault, joined } from "./bytes.js";
import { digest } from "./crypto.js";

/** The list, a file of its own that is loaded when words are shown or typed. */
const listed = async () => (await import("./cloudkit-recovery-words.mjs")).wordList;

const wordCount = 24;
const bitsOfWord = 11;

/**
 * The words of a secret of 32 bytes.
 * @param {Uint8Array} secret
 */
export async function wordsOf(secret) {
    const wordList = await listed();
    const words = [];
    let [bits, held] = [0, 0];
    for (const byte of joined(secret, (await digest(secret)).slice(0, 1))) {
        [bits, held] = [(bits << 8) | byte, held + 8];
        if (held < bitsOfWord) continue;
        held -= bitsOfWord;
        words.push(wordList[bits >> held]);
        bits &= (1 << held) - 1;
    }
    return words;
}

/**
 * The secret of 24 words. Capitals, numbers and any signs between the words do not matter, and a word may end after
 * four letters or later. A fault names the place of a word, and never the word.
 * @param {string} text
 */
export async function secretOf(text) {
    const wrong = (/** @type {string} */ reason) => new Fault(`the words are not 24 recovery words: ${reason}`, "INVALID_ARGUMENTS");
    const words = text.slice(0, 4096).toLowerCase().split(/[^\p{L}]+/u).filter(Boolean);
    if (words.length !== wordCount) throw wrong(`there are ${words.length}`);
    const wordList = await listed();
    const bytes = [];
    let [bits, held] = [0, 0];
    for (const [place, word] of words.entries()) {
        const number = wordList.findIndex((known) => known.slice(0, 4) === word.slice(0, 4));
        if (number < 0 || !wordList[number].startsWith(word)) throw wrong(`word ${place + 1} is not in the list`);
        [bits, held] = [(bits << bitsOfWord) | number, held + bitsOfWord];
        while (held >= 8) {
            held -= 8;
            bytes.push(bits >> held);
            bits &= (1 << held) - 1;
        }
    }
    const secret = Uint8Array.from(bytes.slice(0, -1));
    if (bytes[bytes.length - 1] !== (await digest(secret))[0]) throw wrong("one of them is another");
    return secret;
}
