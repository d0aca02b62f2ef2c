/** The rule by which a device takes the tree of logs from a server: `docs/encryption.md`, "The tree of logs". */

import { Fault, hex, joined, number, Reader, signatureBytes, unbase64, unhex } from "./bytes.js";
import { digest } from "./crypto.js";
import { actions, isSigned, readStatement } from "./log.js";

/** @typedef {import("./log.js").Account} Account */
/**
 * The tree as this device has seen it, in hexadecimal. `doubt` are two heads that were not shown to be of one tree.
 * @typedef {{ server: string, head: string, doubt?: [string, string] }} SeenTree
 */
/** @typedef {{ head?: unknown, serverKey?: unknown, index?: unknown, inclusion?: unknown, consistency?: unknown }} ShownTree */
/** @typedef {{ size: number, root: string }} Root */

const treeKind = 10;
/** The most digests of a proof. */
const proofMax = 64;

/** @param {Uint8Array} bytes */
export function readTreeHead(bytes) {
    const reader = new Reader(bytes, "the head of the tree of logs");
    reader.kind(treeKind);
    const [container, environment, size, root] = [reader.name(), reader.name(), reader.integer(8), reader.hex(32)];
    reader.integer(8);
    reader.take(signatureBytes);
    reader.end();
    return { container, environment, size, root, bytes, isSignedBy: isSigned(bytes) };
}

/** The way from a node up to the root. Its index and that of the last node are of the level that it has reached. */
class Ascent {
    /**
     * @param {number} node
     * @param {number} last
     */
    constructor(node, last) {
        this.node = node;
        this.last = last;
    }

    /** Goes up to the parent of this node and a sibling, and answers whether that is on the left. */
    climb() {
        const isLeft = this.node % 2 === 1 || this.node === this.last;
        // The last node of a level may have no sibling there, and is its own parent.
        while (isLeft && this.node % 2 === 0 && this.node > 0) this.#ascend();
        this.#ascend();
        return isLeft;
    }

    /** Goes up as long as the node is the right child of its parent. */
    skipRightEdges() {
        while (this.node % 2 === 1) this.#ascend();
    }

    #ascend() {
        this.node = Math.floor(this.node / 2);
        this.last = Math.floor(this.last / 2);
    }
}

/**
 * @param {Uint8Array} left
 * @param {Uint8Array} right
 */
const nodeOf = (left, right) => digest(Uint8Array.of(1), left, right);

/**
 * Whether a proof shows that an entry is in the tree.
 * @param {Root} head
 * @param {Uint8Array} entry
 * @param {unknown} index
 * @param {Uint8Array[]} proof
 */
export async function includes({ size, root }, entry, index, proof) {
    if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0 || index >= size) return false;
    const ascent = new Ascent(index, size - 1);
    let found = await digest(Uint8Array.of(0), entry);
    for (const sibling of proof) {
        if (ascent.last === 0) return false;
        found = await (ascent.climb() ? nodeOf(sibling, found) : nodeOf(found, sibling));
    }
    return ascent.last === 0 && hex(found) === root;
}

/**
 * Whether a proof shows that the tree had an older head once, and only grew since.
 * @param {Root} head
 * @param {Root} older
 * @param {Uint8Array[]} proof
 */
export async function extendsTree(head, older, proof) {
    if (older.size === head.size) return proof.length === 0 && older.root === head.root;
    if (older.size === 0) return proof.length === 0 && older.root === hex(await digest());
    if (older.size > head.size) return false;
    const ascent = new Ascent(older.size - 1, head.size - 1);
    ascent.skipRightEdges();
    // An older tree of a power of two is a whole subtree of the newer one: its root is not repeated in the proof.
    const isWhole = Number.isInteger(Math.log2(older.size));
    const [start, siblings] = isWhole ? [unhex(older.root), proof] : [proof[0], proof.slice(1)];
    if (!start) return false;
    let [before, now] = [start, start];
    for (const sibling of siblings) {
        if (ascent.last === 0) return false;
        const isLeft = ascent.climb();
        if (isLeft) before = await nodeOf(sibling, before);
        now = await (isLeft ? nodeOf(sibling, now) : nodeOf(now, sibling));
    }
    return ascent.last === 0 && hex(before) === older.root && hex(now) === head.root;
}

/** @param {unknown} shown */
function proofOf(shown) {
    const proof = (Array.isArray(shown) ? shown.slice(0, proofMax + 1) : []).map((text) => unbase64(text, "a proof of the server"));
    if (proof.length > proofMax || proof.some(({ length }) => length !== 32)) throw refusedTree("the proof about the tree of logs cannot be read");
    return proof;
}

/** @param {string} reason */
export const refusedTree = (reason) => new Fault(
    `${reason}. Nothing was changed: ask the server's operator. If the server was put back from a backup, use container.keys.trustTree()`);

/**
 * Checks the tree that came with a log against the one that is kept, and keeps the larger one. Keeps two heads that are
 * not of one tree. The first tree is taken as it is, with the key that has signed it.
 * @param {import("./account.js").Kept} kept which is changed
 * @param {ShownTree | undefined} shown
 * @param {Uint8Array[]} statements all that the account has
 * @param {Account} account
 * @param {SeenTree | undefined} asked the kept tree whose size the request has named
 * @returns {Promise<"taken" | "askAgain" | Fault>} to be asked again if another tab has kept another tree since
 */
export async function takeTree(kept, shown, statements, account, asked) {
    const { tree } = kept;
    const last = tree && readTreeHead(unhex(tree.head));
    try {
        if (!shown) throw refusedTree("the server shows no tree of logs");
        const head = readTreeHead(unbase64(shown.head, "the head of the tree of logs"));
        const server = hex(unbase64(shown.serverKey, "the server's key"));
        const isKept = tree?.server === server && last?.size === head.size && last.root === head.root;
        if (!isKept && (asked?.head !== tree?.head || asked?.server !== tree?.server)) return "askAgain";
        if (tree && tree.server !== server) throw refusedTree("the server signs the tree of logs with another key than before");
        const isOf = head.container === account.container && head.environment === account.environment;
        if (!isOf || !await head.isSignedBy(server)) {
            throw refusedTree("the head of the tree of logs is not signed by this server, or is of another container");
        }
        if (tree && last) {
            const [older, newer] = head.size > last.size ? [last, head] : [head, last];
            const isFork = older.size === newer.size && older.root !== newer.root;
            if (isFork || !await extendsTree(newer, older, isKept ? [] : proofOf(shown.consistency))) {
                if (!tree.doubt || (isFork && !isProof(tree.doubt))) kept.tree = { ...tree, doubt: [tree.head, hex(head.bytes)] };
                const heads = `${tree.head} and ${hex(head.bytes)}`;
                throw refusedTree(isFork ? `the server has signed two trees of ${head.size} statements: ${heads}`
                    : "the tree of logs does not extend the one that this device has seen");
            }
        }
        if (!await hasNewest(statements, head, shown)) throw refusedTree("the newest statement of the log is not in the tree of logs");
        if (!last || head.size > last.size) kept.tree = { ...tree, server, head: hex(head.bytes) };
        return "taken";
    } catch (error) {
        if (error instanceof Fault) return error;
        throw error;
    }
}

/**
 * The number of statements in a tree.
 * @param {SeenTree} tree
 */
export const sizeOf = (tree) => readTreeHead(unhex(tree.head)).size;

/**
 * Whether two heads alone prove to anybody that the server has shown two trees.
 * @param {[string, string]} doubt
 */
function isProof(doubt) {
    const [one, other] = doubt.map((head) => readTreeHead(unhex(head)));
    return one.size === other.size && one.root !== other.root;
}

/**
 * Whether the proof shows that the last statement is in the tree. An account without statements is in none.
 * @param {Uint8Array[]} statements
 * @param {Root} head
 * @param {ShownTree} shown
 */
async function hasNewest(statements, head, { index, inclusion }) {
    if (statements.length === 0) return true;
    const read = await Promise.all(statements.map(readStatement));
    const first = read.filter(({ what }) => what === actions.begin).pop();
    const newest = read[read.length - 1];
    if (!first) return false;
    return includes(head, joined(unhex(first.hash), number(newest.number, 8), unhex(newest.hash)), index, proofOf(inclusion));
}
