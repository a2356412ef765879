/** Headless Chromium, with one page of its own per process. */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";

import puppeteer, { type Browser, type CDPSession } from "puppeteer-core";

import { oneLine, Refused } from "../node/refused.js";

/** The names of the program, as distributions and vendors install it. */
const PROGRAMS = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

const SCRIPT = "/rpcgauge.js";
const PAGE = `<!doctype html><title>rpcgauge</title><link rel=icon href=data:,><script src="${SCRIPT}"></script>`;

/** Pages with these headers get a clock with a resolution of 5 µs instead of 100 µs. */
const ISOLATED = [
  { name: "Cross-Origin-Opener-Policy", value: "same-origin" },
  { name: "Cross-Origin-Embedder-Policy", value: "require-corp" },
];

/** The resolution of the clock in a page that is isolated: High Resolution Time, section 4.1. */
export const CLOCK_NS = 5_000;

function find(): string {
  // In the order in which the lab looks for it.
  for (const program of PROGRAMS) {
    for (const folder of (process.env.PATH ?? "").split(delimiter)) {
      const path = join(folder, program);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // The next one.
      }
    }
  }
  throw new Refused("there is no Chromium on the PATH; apt install chromium", "user");
}

/** A page of its own browser. */
export class Page {
  private constructor(
    private readonly browser: Browser,
    private readonly session: CDPSession,
    readonly version: string,
    /** When the page's clock was 0, on the host's monotonic clock. */
    private readonly originNs: number,
    /** Fails once there is no page any more. */
    private readonly lost: Promise<never>,
  ) {}

  /** Opens a page of this origin that runs the script. No server is asked for the page or the script. */
  static async open(origin: string, script: string): Promise<Page> {
    const browser = await launch(origin);
    try {
      const target = await browser.waitForTarget((one) => one.type() === "page");
      // Not puppeteer's own page, which would be told of every request while calls are measured.
      const session = await target.createCDPSession();
      const lost = lossOf(browser, session);
      await Promise.race([lost, load(session, origin, script)]);
      const version = (await browser.version()).replace(/^.*\//, "");
      const page = new Page(browser, session, version, await clockOf(session), lost);
      if (!(await page.evaluate("crossOriginIsolated"))) {
        throw new Refused("the page is not isolated, so that its clock is too coarse", "subject");
      }
      return page;
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  /** Evaluates an expression in the page, and waits for its value. */
  async evaluate(expression: string): Promise<unknown> {
    const evaluated = this.session.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    const { result, exceptionDetails } = await Promise.race([this.lost, evaluated]);
    if (exceptionDetails !== undefined) {
      const { text, exception } = exceptionDetails;
      const [said] = (exception?.description ?? text).split("\n");
      throw new Refused(oneLine(said?.replace(/^Error: /, "")), "subject");
    }
    return result.value;
  }

  /** A time of the page's clock, in milliseconds, on the host's monotonic clock. */
  toHost(time: number): bigint {
    return BigInt(Math.round(this.originNs + 1e6 * time));
  }

  /** The number of the browser's first process, which starts all others. */
  get pid(): number {
    return this.browser.process()?.pid as number;
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

async function launch(origin: string): Promise<Browser> {
  // An emulated link has addresses that are not loopback. Without TLS, browsers isolate only pages that they trust.
  const args = [`--unsafely-treat-insecure-origin-as-secure=${origin}`];
  // Chromium's sandbox refuses to run as root.
  if (process.getuid?.() === 0) args.push("--no-sandbox");
  try {
    return await puppeteer.launch({
      executablePath: find(),
      headless: "shell",
      pipe: true,
      args,
    });
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused(`Chromium does not start: ${oneLine(error)}`, "machine");
  }
}

function lossOf(browser: Browser, session: CDPSession): Promise<never> {
  const lost = new Promise<never>((_, fail) => {
    session.once("Inspector.targetCrashed", () => fail(new Refused("the page crashed", "subject")));
    browser.once("disconnected", () => fail(new Refused("Chromium ended by itself", "subject")));
  });
  lost.catch(() => undefined);
  return lost;
}

async function load(session: CDPSession, origin: string, script: string): Promise<void> {
  await session.send("Inspector.enable");
  await session.send("Page.enable");
  await session.send("Fetch.enable", { patterns: [{ urlPattern: "*" }] });
  session.on("Fetch.requestPaused", ({ requestId, request }) => {
    const isScript = request.url.endsWith(SCRIPT);
    const body = Buffer.from(isScript ? script : PAGE).toString("base64");
    const type = { name: "Content-Type", value: isScript ? "text/javascript" : "text/html" };
    const response = { requestId, responseCode: 200, responseHeaders: [...ISOLATED, type], body };
    // Fails only if the browser has ended, which the caller notices.
    session.send("Fetch.fulfillRequest", response).catch(() => undefined);
  });
  const loaded = new Promise((done) => session.once("Page.loadEventFired", done));
  const { errorText } = await session.send("Page.navigate", { url: `${origin}/` });
  if (errorText) throw new Refused(`Chromium does not load the page: ${errorText}`, "subject");
  await loaded;
  await session.send("Fetch.disable");
  await session.send("Page.disable");
}

/** The beginning of the page's clock: Chromium's own time is the host's monotonic clock in seconds. */
async function clockOf(session: CDPSession): Promise<number> {
  await session.send("Performance.enable", { timeDomain: "timeTicks" });
  const { metrics } = await session.send("Performance.getMetrics");
  await session.send("Performance.disable");
  const begin = metrics.find(({ name }) => name === "NavigationStart")?.value;
  if (begin === undefined) throw new Refused("Chromium does not report NavigationStart", "subject");
  return Math.round(begin * 1e9);
}
