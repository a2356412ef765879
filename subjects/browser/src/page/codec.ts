/** Codecs. */

import { fromBase64, type Library, toBase64 } from "./library.js";
import type { CodecTask, Row, Slice } from "./task.js";

export class Codec {
  private readonly operate: () => unknown;
  private readonly proof: () => Uint8Array;

  constructor(library: Library, { stack, encoding, type: name, operation, sample }: CodecTask) {
    const type = library.type(stack, encoding, name);
    const bytes = fromBase64(sample);
    if (operation === "encode") {
      const message: unknown = type.decode(bytes);
      this.operate = () => type.encode(message);
      this.proof = () => type.encode(message);
    } else {
      this.operate = () => type.decode(bytes);
      this.proof = () => type.encode(type.decode(bytes));
    }
  }

  async prove(): Promise<string> {
    return toBase64(this.proof());
  }

  async run({ calls, time, operations }: Slice): Promise<Row[]> {
    const rows: Row[] = [];
    const until = performance.now() + time;
    do {
      const begin = performance.now();
      let error: string | undefined;
      try {
        for (let done = 0; done < operations; done += 1) this.operate();
      } catch (thrown) {
        error = String(thrown);
      }
      const end = performance.now();
      rows.push(error === undefined ? { begin, end } : { begin, end, error });
    } while (calls > 0 ? rows.length < calls : performance.now() < until);
    return rows;
  }
}
