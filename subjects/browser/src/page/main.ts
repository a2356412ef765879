/** What runs in the page. */

import { Client } from "./client.js";
import { Codec } from "./codec.js";
import { Library, type Modules } from "./library.js";
import type { Offered, Row, Task } from "./task.js";

/** Offers the stacks to the driver, with the generated code for the messages. */
export function start(modules: Modules, protobufjs: unknown): void {
  const library = new Library(modules, protobufjs);
  let prepared: Client | Codec | undefined;
  let rows: Row[] = [];
  const it = (): Client | Codec => {
    if (prepared === undefined) throw new Error("nothing is prepared");
    return prepared;
  };
  const offered: Offered = {
    prepare(task: Task): void {
      prepared = task.role === "codec" ? new Codec(library, task) : Client.of(library, task);
    },
    prove: () => it().prove(),
    async run(slice): Promise<void> {
      rows = await it().run(slice);
    },
    rows: () => rows,
  };
  Object.assign(globalThis, { rpcgauge: offered });
}
