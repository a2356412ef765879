/** gzip in the form that Connect requires. */

import type { Compression } from "@connectrpc/connect/protocol";
import { compressionGzip } from "@connectrpc/connect-node";

import { compress } from "./compression.js";

/** The maximum message size. As the minimum size for compression, it turns compression off. */
export const MAX_BYTES = 2 ** 32 - 1;

/** The library uses zlib's default level. */
const OWN_LEVEL = 6;

/** The library's gzip, with a given level. */
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
