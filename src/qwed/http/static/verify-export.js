// Follows an exported ledger with the public keys alone. The rules are those of `qwed ledger verify --export`.

const MAX_LINE_BYTES = 4194304;
const MAX_COSIGNATURES = 16;
const PROGRESS_EVERY = 2000;
const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// --- bytes ------------------------------------------------------------------------------------------

const K = new Uint32Array(64);
const H0 = new Uint32Array(8);
(() => {
  const isPrime = (n) => { for (let d = 2; d * d <= n; d++) if (n % d === 0) return false; return true; };
  const fraction = (x) => ((x - Math.floor(x)) * 4294967296) >>> 0;
  for (let n = 2, at = 0; at < 64; n++) {
    if (!isPrime(n)) continue;
    if (at < 8) H0[at] = fraction(Math.sqrt(n));
    K[at++] = fraction(Math.cbrt(n));
  }
})();

const W = new Uint32Array(64);

// The browser's own digest is asynchronous, and too slow for millions of short texts.
export function sha256(...parts) {
  let length = 0;
  for (const part of parts) length += part.length;
  const padded = new Uint8Array(((length + 72) >> 6) << 6);
  let at = 0;
  for (const part of parts) { padded.set(part, at); at += part.length; }
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(length / 0x20000000));
  view.setUint32(padded.length - 4, (length << 3) >>> 0);
  const h = Uint32Array.from(H0);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) W[i] = view.getUint32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = W[i - 15], y = W[i - 2];
      W[i] = (W[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + W[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10))) | 0;
    }
    let [a, b, c, d, e, f, g, k] = h;
    for (let i = 0; i < 64; i++) {
      const one = (k + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      k = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += k;
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  h.forEach((word, i) => out.setUint32(4 * i, word));
  return digest;
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

class Problem extends Error {}

function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

function fromBase64(text, what) {
  let raw;
  try { raw = atob(text); } catch { throw new Problem(`${what} is not base64`); }
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  if (toBase64(bytes) !== text) throw new Problem(`${what} is not base64 as it should be written`);
  return bytes;
}

function fromBase64Url(text, what) {
  if (typeof text !== "string" || !/^[A-Za-z0-9_-]*$/.test(text)) throw new Problem(`${what} is not base64url`);
  return fromBase64(text.replace(/-/g, "+").replace(/_/g, "/") + "=".repeat((4 - (text.length % 4)) % 4), what);
}

function eightBytes(number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number));
  return bytes;
}

// --- the tree (RFC 9162) ----------------------------------------------------------------------------

const LEAF = Uint8Array.of(0), NODE = Uint8Array.of(1), PREFIX = encoder.encode("qwed-ledger-v1");

class Edge {
  constructor() { this.size = 0; this.hashes = []; }

  append(data) {
    let digest = sha256(LEAF, data);
    for (let index = this.size; index % 2 === 1; index = (index - 1) / 2) digest = sha256(NODE, this.hashes.pop(), digest);
    this.hashes.push(digest);
    this.size += 1;
  }

  root() {
    if (!this.hashes.length) return sha256();
    return this.hashes.slice(0, -1).reduceRight((digest, left) => sha256(NODE, left, digest), this.hashes.at(-1));
  }
}

// --- signatures -------------------------------------------------------------------------------------

const KINDS = {
  "EC P-256": { names: ["ES256"], key: { name: "ECDSA", namedCurve: "P-256" }, check: { name: "ECDSA", hash: "SHA-256" }, bytes: 32, order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n },
  "EC P-384": { names: ["ES384"], key: { name: "ECDSA", namedCurve: "P-384" }, check: { name: "ECDSA", hash: "SHA-384" }, bytes: 48, order: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n },
  "OKP Ed25519": { names: ["Ed25519", "EdDSA"], key: { name: "Ed25519" }, check: { name: "Ed25519" } },
};

async function readKeys(text) {
  let given;
  try { given = JSON.parse(text); } catch { throw new Problem("the keys are not JSON: paste the whole of jwks.json"); }
  if (!Array.isArray(given?.keys) || !given.keys.length) throw new Problem("the keys have no list `keys`: paste the whole of jwks.json");
  const keys = new Map();
  for (const jwk of given.keys) {
    const kind = KINDS[`${jwk.kty} ${jwk.crv}`];
    if (!kind || typeof jwk.kid !== "string") continue;
    const { kty, crv, x, y } = jwk;
    try {
      const key = await crypto.subtle.importKey("jwk", kty === "EC" ? { kty, crv, x, y } : { kty, crv, x }, kind.key, false, ["verify"]);
      keys.set(jwk.kid, { kind, key });
    } catch { throw new Problem(`the key ${jwk.kid} can't be read, or this browser does not know ${crv}`); }
  }
  if (!keys.size) throw new Problem("none of the keys is of a kind that signs ledgers");
  return keys;
}

async function readVkeys(text) {
  const found = [];
  for (const line of text.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const [name, id, ...rest] = line.split("+");
    const material = fromBase64(rest.join("+"), `the key of the witness ${name}`);
    const expected = hex(sha256(encoder.encode(name + "\n"), material)).slice(0, 8);
    if (material.length !== 33 || material[0] !== 4 || id !== expected) throw new Problem(`${name}: this is no key of a witness (NAME+ID+KEY)`);
    const key = await crypto.subtle.importKey("raw", material.subarray(1), { name: "Ed25519" }, false, ["verify"]);
    found.push({ name, id, key });
  }
  return found;
}

async function verifiedClaims(token, typ, keys) {
  const parts = typeof token === "string" ? token.split(".") : [];
  if (parts.length !== 3) throw new Problem("it is not a token");
  let header, claims;
  try {
    header = JSON.parse(strictDecoder.decode(fromBase64Url(parts[0], "its header")));
    claims = JSON.parse(strictDecoder.decode(fromBase64Url(parts[1], "its claims")));
  } catch { throw new Problem("it is not a token"); }
  const known = keys.get(header.kid);
  if (!known) throw new Problem("none of the keys signed it");
  if (header.typ !== typ || !known.kind.names.includes(header.alg) || "crit" in header) throw new Problem("its header is of another kind");
  const signature = fromBase64Url(parts[2], "its signature");
  const { bytes, order } = known.kind;
  if (bytes && (signature.length !== 2 * bytes || BigInt("0x" + hex(signature.subarray(bytes))) > order / 2n)) throw new Problem("its signature is not as we write it");
  const signed = encoder.encode(`${parts[0]}.${parts[1]}`);
  if (!(await crypto.subtle.verify(known.kind.check, known.key, signature, signed))) throw new Problem("its signature does not fit");
  return claims;
}

async function isWitnessed(line, body, witnesses) {
  const found = /^\u2014 (\S+) (\S+)\n?$/.exec(line);
  if (!found) return false;
  let content;
  try { content = fromBase64(found[2], "a cosignature"); } catch { return false; }
  if (content.length !== 76) return false;
  const witness = witnesses.find((one) => one.name === found[1] && one.id === hex(content.subarray(0, 4)));
  if (!witness) return false;
  const at = new DataView(content.buffer).getBigUint64(4);
  const message = encoder.encode(`cosignature/v1\ntime ${at}\n${body}`);
  return at < 1n << 63n && crypto.subtle.verify({ name: "Ed25519" }, witness.key, content.subarray(12), message);
}

// --- lines ------------------------------------------------------------------------------------------

async function* linesOf(stream) {
  const reader = stream.getReader();
  let rest = [], length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    let start = 0;
    for (let end = value.indexOf(10); end >= 0; end = value.indexOf(10, start)) {
      rest.push(value.subarray(start, end));
      yield joined(rest);
      rest = []; length = 0; start = end + 1;
    }
    rest.push(value.subarray(start));
    length += value.length - start;
    if (length > MAX_LINE_BYTES) throw new Problem(`a line takes more than ${MAX_LINE_BYTES} bytes`);
  }
  if (rest.some((part) => part.length)) yield joined(rest);
}

function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all.at(-1) === 13 ? all.subarray(0, -1) : all;
}

// What says the same in other letters may say something else to another reader.
function readLine(raw, fields) {
  let text, item;
  try { text = strictDecoder.decode(raw); item = JSON.parse(text); } catch { throw new Problem("not a line of an exported ledger"); }
  if (item === null || typeof item !== "object" || Array.isArray(item)) throw new Problem("not a line of an exported ledger");
  const ordered = {};
  for (const field of fields) if (field in item) ordered[field] = item[field];
  if (JSON.stringify(ordered) !== text) throw new Problem("the line is not as it was written");
  return item;
}

const ENTRY = ["seq", "at_ms", "subject", "commitment", "previous", "hash", "salt", "payload"];

class Follower {
  constructor(keys, witnesses) {
    this.keys = keys; this.witnesses = witnesses;
    this.edge = new Edge(); this.head = new Uint8Array(32);
    this.ledger = null; this.signed = 0; this.isWitnessed = false; this.payloads = 0;
  }

  async read(raw) {
    if (raw.length > MAX_LINE_BYTES) throw new Problem(`the line takes more than ${MAX_LINE_BYTES} bytes`);
    if (this.ledger === null) return this.preamble(readLine(raw, ["format", "ledger"]));
    if (strictDecoder.decode(raw.subarray(0, 13)) === '{"checkpoint"') return this.checkpoint(readLine(raw, ["checkpoint", "cosignatures"]));
    return this.entry(readLine(raw, ENTRY));
  }

  preamble(line) {
    if (line.format !== "qwed-ledger/1" || typeof line.ledger !== "string") throw new Problem("the format is not qwed-ledger/1");
    this.ledger = line.ledger;
  }

  entry(line) {
    const seq = this.edge.size + 1;
    if (line.seq !== seq) throw new Problem(`entry ${seq} is expected here, and ${line.seq} stands here`);
    if (!Number.isSafeInteger(line.at_ms) || line.at_ms < 0 || typeof line.subject !== "string") throw new Problem("not a line of an exported ledger");
    const [commitment, previous, hash] = ["commitment", "previous", "hash"].map((name) => fromBase64(line[name], `${name} of entry ${seq}`));
    if (!same(previous, this.head)) throw new Problem(`entry ${seq} does not follow the one before it`);
    const expected = sha256(PREFIX, eightBytes(seq), eightBytes(line.at_ms), previous, commitment, encoder.encode(line.subject));
    if (commitment.length !== 32 || !same(hash, expected)) throw new Problem(`entry ${seq} was changed: its hash is not that of its content`);
    if ("payload" in line) {
      const salt = fromBase64(line.salt ?? "", "a salt"), payload = fromBase64(line.payload, "a payload");
      if (salt.length !== 16 || !same(sha256(salt, payload), commitment)) throw new Problem(`the payload of entry ${seq} was changed`);
      this.payloads += 1;
    }
    this.edge.append(hash);
    this.head = hash;
  }

  async checkpoint(line) {
    let claims;
    try { claims = await verifiedClaims(line.checkpoint, "qwed-checkpoint+jwt", this.keys); } catch (error) {
      if (error instanceof Problem) throw new Problem(`the checkpoint is not signed: ${error.message}`);
      throw error;
    }
    if (claims.ledger !== this.ledger) throw new Problem("the checkpoint belongs to another ledger");
    const size = this.edge.size;
    if (claims.size !== size) throw new Problem(`the checkpoint is about ${claims.size} entries, and ${size} stand before it`);
    const root = this.edge.root();
    if (!same(fromBase64Url(claims.root, "the root"), root) || !same(fromBase64Url(claims.head, "the head"), this.head)) {
      throw new Problem(`entries ${this.signed + 1} to ${size} were written anew: the signed tree is another`);
    }
    const body = `${this.ledger}\n${size}\n${toBase64(root)}\n`;
    const lines = Array.isArray(line.cosignatures) ? line.cosignatures.slice(0, MAX_COSIGNATURES) : [];
    this.isWitnessed = false;
    for (const one of lines) this.isWitnessed ||= typeof one === "string" && (await isWitnessed(one, body, this.witnesses));
    this.signed = size;
    this.isSigned = true;
  }

  finish() {
    if (this.ledger === null) throw new Problem("there is nothing");
    if (!this.isSigned || this.signed !== this.edge.size) throw new Problem(`entry ${this.edge.size} is under no checkpoint`);
    if (this.witnesses.length && !this.isWitnessed) throw new Problem("the last checkpoint is not signed by the witness");
    return { valid: true, ledger: this.ledger, entries: this.edge.size, head: hex(this.head), payloads: this.payloads, witnessed: this.isWitnessed };
  }
}

export async function verifyExport(stream, jwks, vkeys = "", tell = () => {}) {
  let number = 0;
  try {
    const follower = new Follower(await readKeys(jwks), await readVkeys(vkeys));
    for await (const raw of linesOf(stream)) {
      number += 1;
      await follower.read(raw);
      if (number % PROGRESS_EVERY === 0) { tell(follower.edge.size); await new Promise((resume) => setTimeout(resume)); }
    }
    return follower.finish();
  } catch (error) {
    // What nobody thought of is no proof either.
    const says = error instanceof Problem ? error.message : `it can't be followed (${error})`;
    return { valid: false, line: number, says };
  }
}

// --- the page ---------------------------------------------------------------------------------------

const form = document.getElementById("form");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const [answer, verdict, says, facts, progress] = ["answer", "verdict", "says", "facts", "progress"].map((id) => document.getElementById(id));
  const button = form.querySelector("button");
  answer.hidden = true;
  button.disabled = true;
  progress.textContent = "Reading …";
  const file = document.getElementById("export").files[0];
  const tell = (count) => { progress.textContent = `${count} entries followed …`; };
  const found = await verifyExport(file.stream(), document.getElementById("keys").value, document.getElementById("witnesses").value, tell);
  progress.textContent = "";
  button.disabled = false;
  verdict.textContent = found.valid ? "Valid" : "Not valid";
  verdict.dataset.valid = String(found.valid);
  says.textContent = found.valid ? "Every entry follows from the one before, and every signature fits." : `${found.line ? `Line ${found.line}: ` : ""}${found.says}`;
  facts.replaceChildren();
  const rows = found.valid ? [["Ledger", found.ledger], ["Entries", found.entries], ["Head", found.head], ["Compared with their payloads", found.payloads], ["Signed by a witness", found.witnessed ? "yes" : "not asked, or no"]] : [];
  for (const [name, value] of rows) {
    const term = document.createElement("dt"), told = document.createElement("dd");
    term.textContent = name;
    told.textContent = String(value);
    facts.append(term, told);
  }
  answer.hidden = false;
});
