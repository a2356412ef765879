/** Calls that stream, and the records of the calls and of their messages. */

import type { Stream } from "../contract.js";
import { MessageTimes } from "../message-records.js";
import { oneLine, Refused } from "../refused.js";
import type { Json } from "../shape.js";
import type { Tally } from "../slices.js";
import type { Calls, StreamLibrary } from "./client.js";
import { Cycle } from "./cycle.js";
import { Exchange, type Plan, planOf } from "./exchange.js";

/** How many messages the lab wants to see of a call. */
const MAX_VERIFIED = 1000;

export class StreamCalls<M> implements Calls {
  private readonly plan: Plan;
  private readonly requests: Cycle<M>;
  /** Times of calls that have ended, for the next calls. */
  private readonly spare: MessageTimes[] = [];

  constructor(
    stream: Stream,
    private readonly library: StreamLibrary<M>,
  ) {
    this.plan = planOf(stream);
    this.requests = new Cycle(library.requests);
  }

  verify(): Promise<Json> {
    return new Promise((verified, fail) => {
      const responses: M[] = [];
      // The call always has the first requests.
      const requests = new Cycle(this.library.requests);
      const ended = (error: unknown): void => {
        if (error !== undefined) return fail(new Refused(oneLine(error), "subject"));
        const stream = responses.map((response) => ({ message: this.library.toJson(response) }));
        verified({ stream });
      };
      const seen = (response: M): void => {
        if (responses.length < MAX_VERIFIED) responses.push(response);
      };
      this.library.exchange(new Exchange(this.plan, requests, this.freshTimes(), ended, seen));
    });
  }

  make(tally: Tally | undefined, ended: () => void): void {
    const times = this.spare.pop() ?? this.freshTimes();
    const exchange = new Exchange(this.plan, this.requests, times, (error, stamps) => {
      tally?.addStream(stamps, times, error);
      times.clear();
      this.spare.push(times);
      ended();
    });
    this.library.exchange(exchange);
  }

  private freshTimes(): MessageTimes {
    return new MessageTimes(Math.max(this.plan.sends, this.plan.receives));
  }
}
