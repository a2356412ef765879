/** Services for messages of generated code, in which 64-bit integers are bigint. */

import {
  FIRST_FOLLOWER, type Handler, idOfItem, type Item, item, items, KEPT_ITEMS, MAX_ITEMS, rows, within,
} from "./plain.js";
import type { Workload } from "./workloads.js";

/** The fields of the built-in workloads' requests. */
interface Fields {
  id: number;
  count: number;
  name: string;
  userId: bigint;
}

/** `enum ExampleEnum`. */
const ONE = 1;

/** The service of a built-in workload. `make` creates a response of the library from its fields. */
export function handler<M extends object>(
  { name, n }: Workload,
  make: (fields: object) => M,
): Handler<M> {
  /** Responds with the number of elements given by the field. The usual response is built once. */
  const sized = (field: "id" | "count", most: number, first: (count: number) => object) => {
    const kept = make(first(n));
    return (request: M) => {
      const asked = (request as unknown as Fields)[field];
      return asked === n ? kept : make(first(within(field, asked, most)));
    };
  };
  switch (name) {
    case "echo":
      return (request) => request;
    case "hello":
      return (request) => make({ message: `Hello, ${(request as unknown as Fields).name}.` });
    case "list":
      return sized("id", MAX_ITEMS, (count) => ({ response: items(count).map(typedItem) }));
    case "items": {
      const kept = items(KEPT_ITEMS).map((each) => make(typedItem(each)));
      return (request, number = 0) => {
        const i = idOfItem((request as unknown as Fields).id) + number;
        return kept[i - 1] ?? make(typedItem(item(i)));
      };
    }
    case "records": {
      const all = rows();
      return sized("count", all.length, (count) => ({ records: all.slice(0, count) }));
    }
    case "profile":
      return (request) => {
        const id = (request as unknown as Fields).userId;
        const texts = { email: `m${id}@uni.edu`, profileImage: `${id}.png`, nickname: `m${id}` };
        return make({ info: { id, ...texts } });
      };
    case "followers":
      return (request) => {
        const first = (request as unknown as Fields).userId + BigInt(FIRST_FOLLOWER);
        return make({ userId: Array.from({ length: n }, (_, index) => first + BigInt(index)) });
      };
    case "own":
      throw new Error("the workload own has a sample and no handler");
  }
}

function typedItem(item: Item): object {
  return { ...item, message: { ...item.message, long: BigInt(item.message.long), enum: ONE } };
}
