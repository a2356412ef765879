/** Code that all clients share: calls in flight and their records. */

import { setImmediate } from "node:timers/promises";

import type { ClientSettings } from "../contract.js";
import { oneLine, Refused } from "../refused.js";
import type { Json } from "../shape.js";
import { type Measurer, now, Stamps, type Tally } from "../slices.js";

/** Called at the end of a call, with its error or its response. */
export type Done<M> = (error: unknown, response?: M) => void;

/** How a library makes calls. */
export interface Library<M> {
  versions: Record<string, string>;
  code?: "generated" | undefined;
  /** The requests as messages of the library. */
  requests: M[];
  /** Makes a call, and stamps the times that the library exposes; `begin` is already set. */
  call(request: M, stamps: Stamps, done: Done<M>): void;
  toJson(response: M): Json;
  /** Opens the missing connections, and returns their number. */
  connect(): Promise<number>;
}

export class Client<M> implements Measurer {
  readonly inBatches = false;
  readonly versions: Record<string, string>;
  readonly code?: string | undefined;
  private next = 0;

  private constructor(
    private readonly settings: ClientSettings,
    private readonly library: Library<M>,
  ) {
    this.versions = library.versions;
    this.code = library.code;
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
    return new Promise((verified, fail) => {
      const stamps = new Stamps();
      stamps.begin = now();
      this.library.call(this.library.requests[0] as M, stamps, (error, response) => {
        if (error === undefined) verified({ message: this.library.toJson(response as M) });
        else fail(new Refused(oneLine(error), "subject"));
      });
    });
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
        const request = this.library.requests[this.next] as M;
        this.next = (this.next + 1) % this.library.requests.length;
        const stamps = new Stamps();
        stamps.begin = now();
        this.library.call(request, stamps, (error) => {
          flying -= 1;
          if (recorded) {
            if (error === undefined) tally.add(stamps);
            else tally.addFailed(stamps.begin, error);
          }
          call();
        });
      };
      for (let lane = 0; lane < this.settings.in_flight; lane += 1) call();
    });
  }
}
