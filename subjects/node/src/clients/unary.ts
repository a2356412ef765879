/** Unary calls and their records. */

import { oneLine, Refused } from "../refused.js";
import type { Json } from "../shape.js";
import { now, Stamps, type Tally } from "../slices.js";
import type { Calls, UnaryLibrary } from "./client.js";
import { Cycle } from "./cycle.js";

export class UnaryCalls<M> implements Calls {
  private readonly requests: Cycle<M>;

  constructor(private readonly library: UnaryLibrary<M>) {
    this.requests = new Cycle(library.requests);
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

  make(tally: Tally | undefined, ended: () => void): void {
    const request = this.requests.next();
    const stamps = new Stamps();
    stamps.begin = now();
    this.library.call(request, stamps, (error) => {
      if (tally !== undefined) {
        if (error === undefined) tally.add(stamps);
        else tally.addFailed(stamps.begin, error);
      }
      ended();
    });
  }
}
