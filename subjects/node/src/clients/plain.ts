/** Code that the clients with JSON share. */

import { levelOf } from "../compression.js";
import { type ClientSettings, HANDLER_END, HANDLER_START } from "../contract.js";
import { Es } from "../generated.js";
import { fromSample } from "../plain.js";
import type { Json } from "../shape.js";
import type { Stamps } from "../slices.js";
import type { Workload } from "../workloads.js";

export async function requestsOf(settings: ClientSettings, workload: Workload): Promise<Json[]> {
  const es = await Es.load(workload.messages);
  const { request } = workload;
  return settings.requests.map((sample) => fromSample(es, workload, request, sample, "json"));
}

export function headersOf(settings: ClientSettings): Record<string, string> {
  const compresses = levelOf(settings.request_compression) > 0;
  const asks = levelOf(settings.response_compression) > 0;
  return {
    accept: "application/json",
    // By default fetch would request gzip.
    "accept-encoding": asks ? "gzip" : "identity",
    "content-type": "application/json",
    ...(compresses && { "content-encoding": "gzip" }),
  };
}

/** Records the handler's times from the headers of a response. */
export function readMarks(stamps: Stamps, header: (name: string) => unknown): void {
  stamps.handlerStart = BigInt((header(HANDLER_START) as string | undefined | null) ?? 0);
  stamps.handlerEnd = BigInt((header(HANDLER_END) as string | undefined | null) ?? 0);
}
