/** gzip as Connect takes it. */

import type { Compression } from "@connectrpc/connect/protocol";
import { compressionGzip } from "@connectrpc/connect-node";

import { compress } from "./compression.js";

/** The most that a message may have. Smaller ones are never compressed with this as their least size. */
export const MAX_BYTES = 2 ** 32 - 1;

/** zlib's default level is the library's own. */
const OWN_LEVEL = 6;

/** The library's gzip, at a level. */
export function gzipOf(level: number): Compression {
  if (level === 0 || level === OWN_LEVEL) return compressionGzip;
  return {
    ...compressionGzip,
    compress: (bytes) =>
      new Promise((done, fail) => {
        compress(bytes, level, (error, compressed) => {
          if (error) fail(error);
          else done(new Uint8Array(compressed));
        });
      }),
  };
}
