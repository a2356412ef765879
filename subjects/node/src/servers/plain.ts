/** The handler of the servers with JSON. */

import { Es } from "../generated.js";
import { fromSample, type Handler, handler } from "../plain.js";
import type { Json } from "../shape.js";
import type { Workload } from "../workloads.js";

export async function plainHandler(workload: Workload): Promise<Handler<Json>> {
  const { own } = workload;
  if (own === undefined) return handler(workload);
  const es = await Es.load(workload.messages);
  const response = fromSample(es, workload, workload.response, own.response, "json");
  return () => response;
}
