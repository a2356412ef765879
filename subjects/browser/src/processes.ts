/** A process with its descendants, and their CPU time. */

import { closeSync, openSync, readFileSync, readSync, readdirSync } from "node:fs";

/** How old the list of threads may be, in milliseconds. */
const MAX_AGE_MS = 200;

/** A process with its descendants. */
export function processesOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of list("/proc")) {
    const each = Number(name);
    if (Number.isInteger(each)) parents.set(each, parentOf(each));
  }
  const found = [pid];
  for (const one of found) {
    for (const [each, parent] of parents) if (parent === one) found.push(each);
  }
  return found;
}

function parentOf(pid: number): number {
  try {
    // The name, in parentheses, may contain anything.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // It has ended.
    return 0;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * The CPU time of a process with its descendants. The kernel has it in nanoseconds only for each thread, in files that
 * stay open, because a page is asked hundreds of times per second.
 */
export class CpuClock {
  private readonly threads = new Map<string, { file: number; ns: number }>();
  private readonly buffer = Buffer.alloc(64);
  private listed = -Infinity;
  /** What threads used that have ended. */
  private ended = 0;

  constructor(private readonly pid: number) {}

  /** Finds new threads, unless it did so a moment ago. A thread that begins later is found by the next call. */
  refresh(): void {
    if (performance.now() - this.listed < MAX_AGE_MS) return;
    for (const pid of processesOf(this.pid)) {
      const folder = `/proc/${pid}/task`;
      for (const thread of list(folder)) this.add(`${folder}/${thread}/schedstat`);
    }
    this.listed = performance.now();
  }

  private add(path: string): void {
    if (this.threads.has(path)) return;
    try {
      this.threads.set(path, { file: openSync(path, "r"), ns: 0 });
    } catch {
      // It has ended.
    }
  }

  /** The CPU time so far of all threads that it has found. */
  ns(): number {
    let sum = 0;
    for (const [path, thread] of this.threads) {
      try {
        const bytes = readSync(thread.file, this.buffer, 0, this.buffer.length, 0);
        thread.ns = Number(this.buffer.toString("latin1", 0, bytes).split(" ")[0]);
      } catch {
        // It has ended, and keeps what it used.
        this.ended += thread.ns;
        closeSync(thread.file);
        this.threads.delete(path);
        continue;
      }
      sum += thread.ns;
    }
    return this.ended + sum;
  }
}
