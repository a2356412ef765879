/** Tests the page and its browser: the clock, what is asked of servers, and what is left at the end. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";

import { now } from "../node/slices.js";
import { CLOCK_NS, Page } from "../src/chromium.js";
import { CpuClock, processesOf } from "../src/processes.js";

/** How much longer a call may take than its response is delayed, at least: the clock cannot show less. */
const COARSE_NS = BigInt(CLOCK_NS);

const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  const delay = Number(new URL(request.url ?? "", "http://server").searchParams.get("ms"));
  request.resume().on("end", () => setTimeout(() => response.end("done"), delay));
});
let page: Page;

before(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  page = await Page.open(`http://127.0.0.1:${port}`, "globalThis.loaded = true");
});

after(async () => {
  await page.close();
  server.close();
});

test("the page and its script are not asked of the server", async () => {
  assert.equal(await page.evaluate("loaded"), true);
  assert.deepEqual(asked, []);
});

test("the page's clock is the host's monotonic clock", async () => {
  for (let time = 0; time < 20; time += 1) {
    const before = now();
    const inPage = page.toHost((await page.evaluate("performance.now()")) as number);
    const after = now();
    assert.ok(before - COARSE_NS <= inPage && inPage <= after + COARSE_NS, `${before} ${inPage} ${after}`);
  }
});

test("the clock has the resolution that the ready line reports", async () => {
  const steps = `(() => {
    const steps = new Set();
    for (let last = performance.now(), until = last + 100; last < until; ) {
      const time = performance.now();
      if (time > last) steps.add(Math.round(1e6 * (time - last)));
      last = time;
    }
    return Math.min(...steps);
  })()`;
  const least = (await page.evaluate(steps)) as number;
  assert.ok(least <= CLOCK_NS, `the clock goes in steps of ${least} ns`);
});

test("a call takes at least as long as its server waits", async () => {
  for (const ms of [2, 20]) {
    const took = (await page.evaluate(`(async () => {
      const begin = performance.now();
      await (await fetch("/wait?ms=${ms}", { method: "POST", body: "{}" })).text();
      return performance.now() - begin;
    })()`)) as number;
    // A timer of the server may be up to a millisecond early.
    assert.ok(took >= ms - 1, `a response after ${ms} ms is said to have taken ${took} ms`);
  }
});

test("an error in the page is the error's own text", async () => {
  await assert.rejects(page.evaluate("(() => { throw new Error('lost\\nand more') })()"), /^Error: lost$/);
});

test("the CPU time is of all processes", async () => {
  const cpu = new CpuClock(page.pid);
  cpu.refresh();
  const before = cpu.ns();
  let used = 0;
  // On a busy machine, the page may get little of a core.
  for (let tries = 0; used < 50e6 && tries < 50; tries += 1) {
    await page.evaluate("(() => { const until = performance.now() + 200; while (performance.now() < until); })()");
    used = cpu.ns() - before;
  }
  assert.ok(used >= 50e6, `a page that was busy for 10 s used ${used / 1e6} ms`);
});

/** Opens another page, and returns what is said of an expression that never ends, when this is done to it. */
async function saidAfter(harm: (page: Page) => unknown): Promise<string> {
  const harmed = await Page.open("http://localhost", "");
  try {
    const endless = harmed.evaluate("new Promise(() => undefined)").then(String, (error: Error) => error.message);
    harm(harmed);
    return await endless;
  } finally {
    await harmed.close();
  }
}

test("a crash of the page and the end of the browser have different errors", async () => {
  const kill = (pid: number) => process.kill(pid, "SIGKILL");
  const isRenderer = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer");
  const renderers = (page: Page) => processesOf(page.pid).filter(isRenderer);
  assert.equal(await saidAfter((page) => renderers(page).forEach(kill)), "the page crashed");
  assert.equal(await saidAfter((page) => kill(page.pid)), "Chromium ended by itself");
});

test("nothing is left of a browser that was closed", async () => {
  const temporary = mkdtempSync(join(tmpdir(), "rpcgauge-browser-test-"));
  const earlier = process.env.TMPDIR;
  process.env.TMPDIR = temporary;
  try {
    const other = await Page.open("http://localhost", "");
    const pids = processesOf(other.pid);
    assert.ok(pids.length > 1 && pids.every((pid) => existsSync(`/proc/${pid}`)), `${pids}`);
    await other.close();
    assert.deepEqual(readdirSync(temporary), []);
    const left = pids.filter((pid) => existsSync(`/proc/${pid}/exe`));
    assert.deepEqual(left, []);
  } finally {
    if (earlier === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = earlier;
    rmSync(temporary, { recursive: true });
  }
});
