/** A call that streams: which messages it sends and receives, and when. */

import type { Stream } from "../contract.js";
import type { MessageTimes } from "../message-records.js";
import { now, Stamps } from "../slices.js";
import type { Cycle } from "./cycle.js";

/** Which side of a call streams, and how many messages each side sends. */
export interface Plan {
  sends: number;
  receives: number;
  serverStreams: boolean;
}

export function planOf({ form, messages }: Stream): Plan {
  const serverStreams = form !== "client";
  return { sends: form === "server" ? 1 : messages, receives: serverStreams ? messages : 1, serverStreams };
}

export class Exchange<M> {
  readonly begin = now();
  private over = false;
  /** Closes what belongs only to this call, such as its connection. */
  close?: () => void;

  /** `seen` is called with each response, and `ended` once with the error of the call, if it failed. */
  constructor(
    private readonly plan: Plan,
    private readonly requests: Cycle<M>,
    private readonly times: MessageTimes,
    private readonly ended: (error: unknown, stamps: Stamps) => void,
    private readonly seen?: (response: M) => void,
  ) {}

  /** Returns the next request to pass to the library now; undefined if there is none. */
  next(): M | undefined {
    if (this.over || this.hasSentAll) return undefined;
    const request = this.requests.next();
    this.times.addSent(now());
    return request;
  }

  get hasSentAll(): boolean {
    return this.times.sent === this.plan.sends;
  }

  /** Whether a request has no response yet, if each has one. */
  get isWaiting(): boolean {
    return this.times.received < this.times.sent;
  }

  /** Takes a response that the library has decoded. */
  receive(response: M): void {
    if (this.over) return;
    this.times.addReceived(now());
    this.seen?.(response);
  }

  /** Ends the call, with its error if it failed. Only the first end counts: a library may report a failure twice. */
  end(error?: unknown): void {
    if (this.over) return;
    this.over = true;
    const stamps = this.stampsUntil(now());
    this.close?.();
    this.ended(error ?? this.flaw(), stamps);
  }

  private stampsUntil(end: bigint): Stamps {
    const { times, plan } = this;
    const stamps = new Stamps();
    stamps.begin = this.begin;
    stamps.end = end;
    if (plan.serverStreams && times.received > 0) {
      stamps.first = times.receivedAt(0);
      stamps.received = times.receivedAt(times.received - 1);
    }
    const sent = this.hasSentAll ? times.sentAt(times.sent - 1) : 0n;
    // The times of a record must not decrease, but a response may arrive before the last request is sent.
    if (stamps.first === 0n || sent <= stamps.first) stamps.sent = sent;
    return stamps;
  }

  /** Why a call without an error has failed nevertheless. */
  private flaw(): Error | undefined {
    const { sent, received } = this.times;
    const { sends, receives } = this.plan;
    if (sent < sends) return new Error(`the server ended the call after ${sent} of ${sends} requests`);
    if (received !== receives) return new Error(`the server sent ${received} responses instead of ${receives}`);
    return undefined;
  }
}
