/** Versions of the installed packages. */

import { readFileSync } from "node:fs";

export function version(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

export function versions(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, version(name)]));
}
