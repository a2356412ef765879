/** Slices: calls (or batches) that the lab requests, and their records. */

import { appendFileSync, closeSync, openSync } from "node:fs";
import process from "node:process";

import { parseAsk, type Slice } from "./contract.js";
import type { Conversation, ReadyPart } from "./conversation.js";
import { MessageRecords, type MessageTimes } from "./message-records.js";
import { oneLine } from "./refused.js";
import type { Json } from "./shape.js";

export const NOT_KNOWN = 2 ** 32 - 1;
const SUCCEEDED = 0;
const FAILED = 1;

/** Nanoseconds of the host's monotonic clock: Node reads CLOCK_MONOTONIC on Linux. */
export const now = process.hrtime.bigint;

/** What a library exposes of a call; 0 and NOT_KNOWN for times and sizes that it does not expose. */
export class Stamps {
  begin = 0n;
  encoded = 0n;
  sent = 0n;
  first = 0n;
  received = 0n;
  end = 0n;
  handlerStart = 0n;
  handlerEnd = 0n;
  requestBytes = NOT_KNOWN;
  responseBytes = NOT_KNOWN;
}

const WORDS = 10;
export const RECORD_BYTES = WORDS * 8;
const FIRST_CAPACITY = 1024;

/** Records in the format of the file. The machine is little-endian, like all platforms that Node supports on Linux. */
export class Records {
  private bytes = new ArrayBuffer(FIRST_CAPACITY * RECORD_BYTES);
  private times = new BigUint64Array(this.bytes);
  private numbers = new Uint32Array(this.bytes);
  count = 0;

  add(stamps: Stamps, failed: boolean, operations: number): void {
    const at = this.count * WORDS;
    if (at === this.times.length) this.grow();
    this.times[at] = stamps.begin;
    this.times[at + 1] = stamps.encoded;
    this.times[at + 2] = stamps.sent;
    this.times[at + 3] = stamps.first;
    this.times[at + 4] = stamps.received;
    this.times[at + 5] = stamps.end;
    this.times[at + 6] = stamps.handlerStart;
    this.times[at + 7] = stamps.handlerEnd;
    const numbers = 2 * (at + 8);
    this.numbers[numbers] = stamps.requestBytes;
    this.numbers[numbers + 1] = stamps.responseBytes;
    this.numbers[numbers + 2] = failed ? FAILED : SUCCEEDED;
    this.numbers[numbers + 3] = operations;
    this.count += 1;
  }

  private grow(): void {
    const larger = new Uint8Array(2 * this.bytes.byteLength);
    larger.set(new Uint8Array(this.bytes));
    this.bytes = larger.buffer;
    this.times = new BigUint64Array(this.bytes);
    this.numbers = new Uint32Array(this.bytes);
  }

  /** Removes and returns all records. The bytes are valid until the next record. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.bytes, 0, this.count * RECORD_BYTES);
    this.count = 0;
    return taken;
  }
}

/** The state of a slice: the calls still to be made, and the outcome of the others. */
export class Tally {
  private skipped = 0;
  private begun = 0;
  private until = 0n;
  private usedBefore = 0;
  error: string | undefined;

  constructor(
    readonly asked: Slice,
    private readonly records: Records,
    private readonly messages: MessageRecords,
    /** The CPU time so far of the processes that make the calls. */
    private readonly usedNs: () => number,
  ) {}

  get operations(): number {
    return this.asked.batch || 1;
  }

  /** Returns whether to record the next call; undefined if there is none to make. */
  next(): boolean | undefined {
    if (this.skipped < this.asked.skip) {
      this.skipped += 1;
      return false;
    }
    if (this.begun === 0) {
      this.begin();
      this.until = now() + BigInt(Math.max(this.asked.time_us, 0)) * 1000n;
    } else if (this.asked.calls > 0 ? this.begun >= this.asked.calls : now() >= this.until) {
      return undefined;
    }
    this.begun += 1;
    return true;
  }

  /** Begins the recorded calls. */
  begin(): void {
    this.usedBefore = this.usedNs();
  }

  /** Adds a call or a batch, with the error if it failed. */
  add(stamps: Stamps, error?: unknown): void {
    if (error !== undefined) this.error ??= oneLine(error);
    this.records.add(stamps, error !== undefined, this.operations);
  }

  addFailed(begin: bigint, error: unknown): void {
    const stamps = new Stamps();
    stamps.begin = begin;
    stamps.end = now();
    this.add(stamps, error);
  }

  /** Adds a stream, with the error if it failed. */
  addStream(stamps: Stamps, messages: MessageTimes, error: unknown): void {
    if (error !== undefined) this.error ??= oneLine(error);
    this.messages.add(messages);
    this.records.add(stamps, error !== undefined, messages.count);
  }

  /** CPU time since the first recorded call. */
  cpuNs(): number {
    return this.usedNs() - this.usedBefore;
  }
}

function ownCpuNs(): number {
  const { user, system } = process.cpuUsage();
  return 1000 * (user + system);
}

/** The interface that clients and codecs share. */
export interface Measurer extends Readonly<ReadyPart> {
  readonly inBatches: boolean;
  /** Makes one call or operation, and returns the result for the lab to verify. */
  verify(): Promise<Json>;
  /** Reopens lost connections, and returns their number. */
  reopen(): Promise<number>;
  /** Makes all calls of the tally. */
  run(tally: Tally): Promise<void>;
  /** The CPU time so far of the processes that make the calls, if they are not only this one. */
  cpuNs?(): number;
  close?(): Promise<void>;
}

/** The settings of files for records; a path that is absent or empty stands for no file. */
interface Recorded {
  records: string;
  message_records?: string;
}

/** The files for the records of a part. */
class Files {
  private readonly calls: number;
  private readonly messages: number | undefined;

  constructor({ records, message_records }: Recorded) {
    this.calls = openSync(records, "w");
    this.messages = message_records ? openSync(message_records, "w") : undefined;
  }

  append(calls: Uint8Array, messages: Uint8Array): void {
    // Whoever sees the record of a call finds those of its messages.
    if (this.messages !== undefined) appendFileSync(this.messages, messages);
    appendFileSync(this.calls, calls);
  }

  close(): void {
    closeSync(this.calls);
    if (this.messages !== undefined) closeSync(this.messages);
  }
}

/** Replies to the lab's lines until its input ends. */
export async function answer<S extends Recorded>(
  conversation: Conversation,
  parts: S[],
  prepare: (settings: S) => Promise<Measurer>,
): Promise<void> {
  const files: Files[] = [];
  const measurers: Measurer[] = [];
  try {
    for (const settings of parts) {
      files.push(new Files(settings));
      measurers.push(await prepare(settings));
    }
    const inBatches = measurers.some((measurer) => measurer.inBatches);
    const [records, messages] = [new Records(), new MessageRecords()];
    conversation.tellReady(measurers);
    for (let line = await conversation.hear(); line !== undefined; line = await conversation.hear()) {
      const ask = parseAsk(line, parts.length, inBatches);
      const [measurer, file] = [measurers[ask.part] as Measurer, files[ask.part] as Files];
      if ("verify" in ask) {
        conversation.tell({ verified: await measurer.verify() });
      } else {
        const usedNs = () => measurer.cpuNs?.() ?? ownCpuNs();
        const tally = new Tally(ask.slice, records, messages, usedNs);
        const slice = await measure(measurer, tally);
        const count = records.count;
        file.append(records.take(), messages.take());
        conversation.tell({ slice: { records: count, ...slice } });
      }
    }
  } finally {
    files.forEach((file) => file.close());
    await Promise.all(measurers.map((measurer) => measurer.close?.()));
  }
}

async function measure(measurer: Measurer, tally: Tally): Promise<Json> {
  const reopened = await measurer.reopen();
  await measurer.run(tally);
  const cpu_ns = tally.cpuNs();
  return { cpu_ns, reopened: reopened || undefined, error: tally.error };
}
