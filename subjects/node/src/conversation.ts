/** The subject's end of standard input and output. */

import process from "node:process";
import { createRequire } from "node:module";

import { CONTRACT } from "./contract.js";
import { oneLine, Refused } from "./refused.js";
import type { Json } from "./shape.js";

const MAX_LINE_BYTES = 64 << 20;

const OWN = createRequire(import.meta.url)("../package.json") as { name: string; version: string };

/** The entry of the ready line for a part. */
export interface ReadyPart {
  /** Absent for a client or codec. */
  address?: string;
  versions: Record<string, string>;
  /** Absent if the language itself reads and writes messages. */
  code?: string | undefined;
  /** The resolution of its clock, if that is coarse. */
  clockNs?: number;
}

export class Conversation {
  private readonly write = process.stdout.write.bind(process.stdout);
  private readonly lines = linesOf(process.stdin);

  constructor() {
    // The output of libraries belongs in the log.
    process.stdout.write = process.stderr.write.bind(process.stderr);
  }

  /** Returns the next line, or undefined at the end. */
  async hear(): Promise<string | undefined> {
    const next = await this.lines.next();
    return next.done ? undefined : next.value;
  }

  /** Waits until the lab closes the input, and discards everything before that. */
  async hearTheEnd(): Promise<void> {
    while ((await this.hear()) !== undefined);
  }

  tell(reply: Json): void {
    this.write(`${JSON.stringify(reply)}\n`);
  }

  /** Writes the ready line. Several parts are written as a list, in the order of their settings. */
  tellReady(parts: ReadyPart[]): void {
    const own = { node: process.versions.node, [OWN.name]: OWN.version };
    const versions = Object.assign(own, ...parts.map((part) => part.versions)) as Json;
    const said = parts.map(({ address, code, clockNs }) => ({ address, code, clock_ns: clockNs }));
    const all = said.length === 1 ? said[0] : { parts: said };
    this.tell({ contract: CONTRACT, ready: true, ...all, versions });
  }

  tellRefused(refused: Refused): void {
    this.tell({ contract: CONTRACT, error: oneLine(refused), fault: refused.fault });
  }
}

async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    let begin = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
      parts.push(chunk.subarray(begin, end));
      yield Buffer.concat(parts).toString();
      parts = [];
      size = 0;
      begin = end + 1;
    }
    parts.push(chunk.subarray(begin));
    size += chunk.length - begin;
    if (size > MAX_LINE_BYTES) {
      throw new Refused(`a line is longer than ${MAX_LINE_BYTES} bytes`, "instrument");
    }
  }
}
