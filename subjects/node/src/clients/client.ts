/** Code that all clients share: connections and calls in flight. */

import { setImmediate } from "node:timers/promises";

import type { ClientSettings, Stream } from "../contract.js";
import { oneLine, Refused } from "../refused.js";
import type { Json } from "../shape.js";
import type { Measurer, Stamps, Tally } from "../slices.js";
import type { Exchange } from "./exchange.js";
import { StreamCalls } from "./streams.js";
import { UnaryCalls } from "./unary.js";

/** Called at the end of a call, with its error or its response. */
export type Done<M> = (error: unknown, response?: M) => void;

/** How a library makes calls. */
interface Common<M> {
  versions: Record<string, string>;
  code?: "generated" | undefined;
  /** The requests as messages of the library. */
  requests: M[];
  toJson(response: M): Json;
  /** Opens the missing connections, and returns their number. */
  connect(): Promise<number>;
}

export interface UnaryLibrary<M> extends Common<M> {
  /** Makes a call, and stamps the times that the library exposes; `begin` is already set. */
  call(request: M, stamps: Stamps, done: Done<M>): void;
}

export interface StreamLibrary<M> extends Common<M> {
  /** Makes a call with the messages of the exchange, and ends the exchange with the call. */
  exchange(exchange: Exchange<M>): void;
}

export type Library<M> = UnaryLibrary<M> | StreamLibrary<M>;

/** The calls of a client, which are all unary or all streams. */
export interface Calls {
  /** Makes a call with the first requests, and returns what it received. */
  verify(): Promise<Json>;
  /** Makes the next call. The tally, if there is one, gets its record. */
  make(tally: Tally | undefined, ended: () => void): void;
}

function callsOf<M>(library: Library<M>, stream: Stream | undefined): Calls {
  return "call" in library ? new UnaryCalls(library) : new StreamCalls(stream as Stream, library);
}

export class Client<M> implements Measurer {
  readonly inBatches = false;
  readonly versions: Record<string, string>;
  readonly code?: string | undefined;
  private readonly calls: Calls;

  private constructor(
    private readonly settings: ClientSettings,
    private readonly library: Library<M>,
  ) {
    this.versions = library.versions;
    this.code = library.code;
    this.calls = callsOf(library, settings.stream);
  }

  static async of<M>(settings: ClientSettings, library: Library<M>): Promise<Client<M>> {
    const client = new Client(settings, library);
    await client.reopen();
    return client;
  }

  async reopen(): Promise<number> {
    // If every call opens its own connection, none has to be open in advance.
    if (this.settings.connection === "per-call") return 0;
    // The lab's line may be read before the end of a connection, even if that end arrived first. One turn of the event
    // loop reads the end, and a second one handles the close.
    await setImmediate();
    await setImmediate();
    try {
      return await this.library.connect();
    } catch (error) {
      const { address } = this.settings;
      throw new Refused(`cannot connect to ${address}: ${oneLine(error)}`, "machine");
    }
  }

  verify(): Promise<Json> {
    return this.calls.verify();
  }

  run(tally: Tally): Promise<void> {
    return new Promise((finish) => {
      let flying = 0;
      const call = (): void => {
        const recorded = tally.next();
        if (recorded === undefined) {
          if (flying === 0) finish();
          return;
        }
        flying += 1;
        this.calls.make(recorded ? tally : undefined, ended);
      };
      const ended = (): void => {
        flying -= 1;
        call();
      };
      for (let lane = 0; lane < this.settings.in_flight; lane += 1) call();
    });
  }
}
