/** What the driver and the page tell each other. */

/** What to measure. Messages are encoded, in base64. */
export type Task = CodecTask | ClientTask;

export interface CodecTask {
  role: "codec";
  stack: string;
  encoding: string;
  /** The full name of the message. */
  type: string;
  operation: "encode" | "decode";
  sample: string;
}

export interface ClientTask {
  role: "client";
  stack: string;
  encoding: string;
  /** The path of the method: `/package.Service/Method`, or that of the REST API. */
  path: string;
  requests: string[];
  inFlight: number;
  deadlineMs: number;
  marks: boolean;
}

/** Calls to make, or batches to run: a number of them, or as many as begin within a time. */
export interface Slice {
  calls: number;
  /** Milliseconds, if `calls` is 0. */
  time: number;
  /** The operations of a batch; 1 for a call. */
  operations: number;
}

/** A call or a batch. Times are milliseconds of the page's clock. */
export interface Row {
  begin: number;
  end: number;
  encoded?: number;
  first?: number;
  received?: number;
  /** Nanoseconds of the host's monotonic clock. */
  handlerStart?: number;
  handlerEnd?: number;
  requestBytes?: number;
  responseBytes?: number;
  /** Why it failed. */
  error?: string;
}

/** The functions that the page offers to the driver. */
export interface Offered {
  prepare(task: Task): void;
  /**
   * Makes one call, or runs the operation once. Returns an encoded message: the response, the sample, or what was
   * decoded.
   */
  prove(): Promise<string>;
  run(slice: Slice): Promise<void>;
  /** What the last slice recorded. It is not the result of `run`, so that writing it takes no CPU time of the slice. */
  rows(): Row[];
}

/** The file with everything that the page runs, in the folder of the messages. */
export const BUNDLE = "page.js";
