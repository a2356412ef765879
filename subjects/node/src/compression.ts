/** gzip using Node's zlib. */

import {
  type InputType, gunzip, gunzipSync, gzip, gzipSync,
} from "node:zlib";

import type { Limits } from "./contract.js";

const GZIP_LEVEL = 6;
const MAX_INFLATION = 10_000;
/** The size that is always allowed, however small the compressed input. */
const FREE_BYTES = 64 << 10;

type Done = (error: Error | null, bytes: Buffer) => void;

/** The level of `gzip:LEVEL`; 0 for `none`. */
export function levelOf(compression: string): number {
  const [name, level] = compression.split(":");
  return name === "none" ? 0 : Number(level ?? GZIP_LEVEL);
}

/** The maximum size after decompression. */
function most(compressed: Uint8Array, limits: Limits): number {
  const inflated = compressed.length * (limits.max_inflation || MAX_INFLATION);
  return Math.min(limits.max_message_bytes, Math.max(FREE_BYTES, inflated));
}

/** Compresses on the library's threads, as a program would that serves other calls in the meantime. */
export function compress(plain: InputType, level: number, done: Done): void {
  gzip(plain, { level }, done);
}

export function decompress(compressed: Buffer, limits: Limits, done: Done): void {
  gunzip(compressed, { maxOutputLength: most(compressed, limits) }, done);
}

export function compressSync(plain: InputType, level: number): Buffer {
  return gzipSync(plain, { level });
}

export function decompressSync(compressed: Uint8Array, limits: Limits): Buffer {
  return gunzipSync(compressed, { maxOutputLength: most(compressed, limits) });
}
