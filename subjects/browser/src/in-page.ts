/** What is measured in a page: its tasks, and the records of its slices. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { load } from "../node/codecs.js";
import { requestsOf } from "../node/clients/plain.js";
import type { ClientSettings, CodecSettings } from "../node/contract.js";
import { Es } from "../node/generated.js";
import { toSample } from "../node/plain.js";
import { Refused } from "../node/refused.js";
import type { Json } from "../node/shape.js";
import { type Measurer, Stamps, type Tally } from "../node/slices.js";
import { versions as versionsOf } from "../node/versions.js";
import type { Workload } from "../node/workloads.js";
import { CLOCK_NS, Page } from "./chromium.js";
import { CpuClock } from "./processes.js";
import { BUNDLE, type Offered, type Row, type Slice, type Task } from "./page/task.js";

/** An origin that browsers trust without TLS. Nothing needs to listen there. */
const NO_SERVER = "http://localhost";

/** A stack as this process sees it: it converts the samples, with the same libraries as the page. */
interface Seen {
  task: Task;
  versions: Record<string, string>;
  code?: string | undefined;
  /** What the lab verifies, from the bytes of the page. */
  verified(bytes: Buffer): Json;
}

export async function prepareCodec(
  stack: string,
  settings: CodecSettings,
  workload: Workload,
): Promise<Measurer> {
  const { type, message, toJson, ...library } = await load(stack, settings, workload);
  const { encoding, operation } = settings;
  const sample = toBase64(type.encode(message));
  const typeName = workload[settings.sample];
  const verified = (bytes: Buffer): Json =>
    operation === "encode" ? { bytes: toBase64(bytes) } : { message: toJson(type.decode(bytes)) };
  const task: Task = { role: "codec", stack, encoding, type: typeName, operation, sample };
  return InPage.open(NO_SERVER, { task, verified, ...library }, workload);
}

export async function prepareClient(
  stack: string,
  settings: ClientSettings,
  workload: Workload,
): Promise<Measurer> {
  const { address, encoding, marks, in_flight: inFlight, deadline_ms: deadlineMs } = settings;
  const common = { role: "client" as const, stack, encoding, inFlight, deadlineMs, marks };
  if (address.startsWith("unix:")) throw new Refused("a page cannot call a Unix socket", "user");
  const origin = `http://${address}`;
  if (stack === "fetch") {
    const requests = (await requestsOf(settings, workload)).map((each) => toBase64(JSON.stringify(each)));
    const task: Task = { ...common, path: workload.restPath, requests };
    const verified = (bytes: Buffer): Json => ({ message: toSample(JSON.parse(bytes.toString())) });
    return InPage.open(origin, { task, verified, versions: {} }, workload);
  }
  const es = await Es.load(workload.messages);
  const requests = settings.requests.map((sample) => toBase64(es.toBytes(workload.request, sample)));
  const task: Task = { ...common, path: workload.grpcPath, requests };
  const verified = (bytes: Buffer): Json => ({ message: es.fromBytes(workload.response, bytes) });
  const versions = { ...Es.versions(), ...versionsOf("@connectrpc/connect-web") };
  return InPage.open(origin, { task, verified, versions, code: "generated" }, workload);
}

class InPage implements Measurer {
  readonly inBatches: boolean;
  readonly versions: Record<string, string>;
  readonly code: string | undefined;
  readonly clockNs = CLOCK_NS;
  private readonly cpu: CpuClock;
  /** The CPU time when it was last read. */
  private usedNs = 0;

  private constructor(
    private readonly page: Page,
    private readonly seen: Seen,
  ) {
    this.inBatches = seen.task.role === "codec";
    this.versions = { chromium: page.version, ...seen.versions };
    this.code = seen.code;
    this.cpu = new CpuClock(page.pid);
  }

  static async open(origin: string, seen: Seen, { messages }: Workload): Promise<InPage> {
    const page = await Page.open(origin, readFileSync(join(messages, BUNDLE), "utf8"));
    const opened = new InPage(page, seen);
    try {
      await opened.ask("prepare", seen.task);
      opened.cpu.refresh();
      if (opened.cpu.ns() === 0) throw new Refused("the kernel does not report the CPU time of threads", "machine");
    } catch (error) {
      await page.close();
      throw error;
    }
    return opened;
  }

  private ask<K extends keyof Offered>(
    name: K,
    ...given: Parameters<Offered[K]>
  ): Promise<Awaited<ReturnType<Offered[K]>>> {
    const all = given.map((each) => JSON.stringify(each)).join(",");
    return this.page.evaluate(`rpcgauge.${name}(${all})`) as Promise<Awaited<ReturnType<Offered[K]>>>;
  }

  async verify(): Promise<Json> {
    return this.seen.verified(Buffer.from(await this.ask("prove"), "base64"));
  }

  /** Chromium reopens lost connections with the next call. */
  async reopen(): Promise<number> {
    return 0;
  }

  async run(tally: Tally): Promise<void> {
    const { skip, calls, time_us, batch } = tally.asked;
    const slice = (calls: number): Slice => ({ calls, time: time_us / 1000, operations: batch || 1 });
    // Afterwards, only little time passes between the skipped calls and the recorded ones.
    this.cpu.refresh();
    if (skip > 0) await this.ask("run", slice(skip));
    this.usedNs = this.cpu.ns();
    tally.begin();
    await this.ask("run", slice(calls));
    this.usedNs = this.cpu.ns();
    for (const row of await this.ask("rows")) tally.add(this.stampsOf(row), row.error);
  }

  cpuNs(): number {
    return this.usedNs;
  }

  close(): Promise<void> {
    return this.page.close();
  }

  private stampsOf(row: Row): Stamps {
    const time = (each?: number): bigint => (each === undefined ? 0n : this.page.toHost(each));
    const stamps = new Stamps();
    stamps.begin = time(row.begin);
    stamps.encoded = time(row.encoded);
    stamps.first = time(row.first);
    stamps.received = time(row.received);
    stamps.end = time(row.end);
    stamps.handlerStart = BigInt(row.handlerStart ?? 0);
    stamps.handlerEnd = BigInt(row.handlerEnd ?? 0);
    stamps.requestBytes = row.requestBytes ?? stamps.requestBytes;
    stamps.responseBytes = row.responseBytes ?? stamps.responseBytes;
    return stamps;
  }
}

function toBase64(bytes: Uint8Array | string): string {
  return Buffer.from(bytes as Uint8Array).toString("base64");
}
