/** Records of messages in the format of their file. */

/** The times of a message: when the request was passed to the library, and when the response was decoded. */
const WORDS = 2;
export const MESSAGE_RECORD_BYTES = WORDS * 8;
const FIRST_CAPACITY = 1024;

/** The times of a call's messages; 0 for a message that there is not. */
export class MessageTimes {
  private words: BigUint64Array;
  sent = 0;
  received = 0;

  /** The array has room for a call, so that it does not grow during one. */
  constructor(capacity: number) {
    this.words = new BigUint64Array(WORDS * capacity);
  }

  /** The number of records: as many as the messages of the side that has more. */
  get count(): number {
    return Math.max(this.sent, this.received);
  }

  addSent(time: bigint): void {
    if (this.sent === this.capacity) this.grow();
    this.words[WORDS * this.sent] = time;
    this.sent += 1;
  }

  addReceived(time: bigint): void {
    if (this.received === this.capacity) this.grow();
    this.words[WORDS * this.received + 1] = time;
    this.received += 1;
  }

  sentAt(number: number): bigint {
    return this.words[WORDS * number] ?? 0n;
  }

  receivedAt(number: number): bigint {
    return this.words[WORDS * number + 1] ?? 0n;
  }

  private get capacity(): number {
    return this.words.length / WORDS;
  }

  /** Makes room for more messages than expected. */
  private grow(): void {
    const larger = new BigUint64Array(2 * this.words.length);
    larger.set(this.words);
    this.words = larger;
  }

  get records(): BigUint64Array {
    return this.words.subarray(0, WORDS * this.count);
  }

  /** Removes the times, so that the next call can use the array. */
  clear(): void {
    this.records.fill(0n);
    this.sent = 0;
    this.received = 0;
  }
}

/** The records of the messages of several calls. */
export class MessageRecords {
  private words = new BigUint64Array(WORDS * FIRST_CAPACITY);
  private used = 0;

  add({ records }: MessageTimes): void {
    const used = this.used + records.length;
    if (used > this.words.length) {
      const larger = new BigUint64Array(Math.max(used, 2 * this.words.length));
      larger.set(this.words.subarray(0, this.used));
      this.words = larger;
    }
    this.words.set(records, this.used);
    this.used = used;
  }

  /** Removes and returns all records. The bytes are valid until the next record. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.words.buffer, 0, 8 * this.used);
    this.used = 0;
    return taken;
  }
}
