/** Checks of JSON values in the lines of the contract. */

import { Refused } from "./refused.js";

/** Returns the value with its type, or refuses it. `where` names the value in the error. */
export type Check<T> = (value: unknown, where: string) => T;

/** A value that may be omitted, with its default. */
export interface Optional<T> {
  check: Check<T>;
  otherwise: T;
}

type Field<T = unknown> = Check<T> | Optional<T>;
type Fields = Record<string, Field>;
export type Shaped<F extends Fields> = {
  [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wrong(value: unknown, where: string): Refused {
  const shown = JSON.stringify(value) ?? "nothing";
  return new Refused(`${where} cannot be ${shown}`, "instrument");
}

function checked<T>(is: (value: unknown) => boolean): Check<T> {
  return (value, where) => {
    if (!is(value)) throw wrong(value, where);
    return value as T;
  };
}

export const text: Check<string> = checked((value) => typeof value === "string");
export const flag: Check<boolean> = checked((value) => typeof value === "boolean");
export const anyObject: Check<Json> = checked(isObject);
/** Accepts a sample, which is an object unless its type has its own form in JSON. */
export const anySample: Check<unknown> = (value) => {
  const lost = lostOf(value);
  if (lost !== undefined) throw new Refused(`the sample has ${lost}`, "user");
  return value;
};

/** Describes a part of the sample that JavaScript would lose, and why; undefined if there is none. */
function lostOf(value: unknown): string | undefined {
  if (Object.is(value, -0)) return "a -0.0, which JSON.stringify writes as 0";
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, "__proto__")) {
    return 'a key "__proto__", which sets the prototype of a JavaScript object';
  }
  for (const inner of Object.values(value)) {
    const lost = lostOf(inner);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

export function oneOf<const T extends readonly string[]>(...values: T): Check<T[number]> {
  return checked((value) => values.includes(value as string));
}

export function integer(least: number, most = Number.MAX_SAFE_INTEGER): Check<number> {
  return checked(
    (value) => Number.isSafeInteger(value) && least <= Number(value) && Number(value) <= most,
  );
}

export function listOf<T>(check: Check<T>, least = 1, most = Infinity): Check<T[]> {
  return (value, where) => {
    if (!Array.isArray(value)) throw wrong(value, where);
    if (value.length < least || value.length > most) {
      throw new Refused(`${where} cannot have ${value.length} elements`, "instrument");
    }
    return value.map((element, index) => check(element, `${where}[${index}]`));
  };
}

export function optional<T>(check: Check<T>, otherwise: T): Optional<T> {
  return { check, otherwise };
}

/** Accepts an object with these keys and no others. */
export function object<F extends Fields>(fields: F): Check<Shaped<F>> {
  return (value, where) => {
    if (!isObject(value)) throw wrong(value, where);
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(fields, key));
    if (unknown !== undefined) {
      throw new Refused(`${where} has an unknown key "${unknown}"`, "instrument");
    }
    const shaped: Json = {};
    for (const [key, field] of Object.entries(fields)) {
      const there = Object.hasOwn(value, key);
      if (there) {
        const check = typeof field === "function" ? field : field.check;
        shaped[key] = check(value[key], `${where}'s ${key}`);
      } else if (typeof field === "function") {
        throw new Refused(`${where} lacks "${key}"`, "instrument");
      } else {
        shaped[key] = field.otherwise;
      }
    }
    return shaped as Shaped<F>;
  };
}
